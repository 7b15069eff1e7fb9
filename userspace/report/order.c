/* SPDX-License-Identifier: BSD-2-Clause */
/* order.c: sorts the tables of a model by the user's key. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "report.h"

/*
 * A sort key: its value in each table (NULL: the table keeps its order), and its wording in
 * titles.
 */
struct order {
	const char *name, *title;
	double (*function)(const struct model_function *row);
	double (*type)(const struct model_type *row);
	double (*site)(const struct model_site *row);
	double (*syscall)(const struct model_syscall *row);
	double (*thread)(const struct model_thread *row);
	double (*program)(const struct model_program *row);
};

#define KEY(table, name, value)                                       \
	static double table##_##name(const struct model_##table *row) \
	{                                                             \
		return (double)(value);                               \
	}

KEY(function, cpu, row->cpu_self_ns)
KEY(function, cpu_total, row->cpu_total_ns)
KEY(function, alloc, row->alloc_self_bytes)
KEY(function, alloc_total, row->alloc_total_bytes)
KEY(function, gc, row->gc_self_ns)
KEY(function, gc_total, row->gc_ns)
KEY(function, survived, row->survived_bytes)
KEY(function, syscalls, row->syscall_ns)
KEY(function, off_cpu, row->off_cpu_ns)
KEY(function, faults, row->faults_self)
KEY(type, alloc, row->bytes.value)
KEY(type, objects, row->objects.value)
KEY(type, gc, row->gc_ns)
KEY(type, survived, row->life.survived.some)
KEY(type, premature, row->life.premature_bytes)
KEY(type, live, row->live_bytes)
KEY(site, alloc, row->bytes.value)
KEY(site, gc, row->gc_ns)
KEY(site, survived, row->life.survived.some)
KEY(site, premature, row->life.premature_bytes)
KEY(site, live, life_live_bytes(&row->life))
KEY(syscall, count, row->count)
KEY(syscall, time, row->total_ns)
KEY(syscall, cpu, row->cpu_ns)
KEY(syscall, gc, row->in_gc_ns)
KEY(syscall, errors, row->errors)
KEY(syscall, max, row->max_ns)
KEY(syscall, off_cpu, row->wait_ns)
KEY(thread, cpu, row->cpu_ns)
KEY(thread, alloc, row->alloc_bytes)
KEY(thread, gc, row->gc_samples)
KEY(thread, off_cpu, row->off_cpu_ns)
KEY(program, cpu, row->cpu_ns)
KEY(program, alloc, row->alloc.value)
KEY(program, gc, row->gc_samples)
KEY(program, count, row->calls)
KEY(program, faults, row->minor_faults + row->major_faults)

static const struct order orders[] = {
	{"cpu", "most self CPU time first", function_cpu, NULL, NULL, syscall_cpu, thread_cpu,
	 program_cpu},
	{"cpu-total", "most CPU time first", function_cpu_total, NULL, NULL, syscall_cpu,
	 thread_cpu, program_cpu},
	{"alloc", "most bytes first", function_alloc, type_alloc, site_alloc, NULL, thread_alloc,
	 program_alloc},
	{"alloc-total", "most bytes first", function_alloc_total, type_alloc, site_alloc, NULL,
	 thread_alloc, program_alloc},
	{"objects", "most objects first", NULL, type_objects, NULL, NULL, NULL, NULL},
	{"gc", "most collection time first", function_gc, type_gc, site_gc, syscall_gc, thread_gc,
	 program_gc},
	{"gc-total", "most collection time first", function_gc_total, type_gc, site_gc, syscall_gc,
	 thread_gc, program_gc},
	{"survived", "most surviving bytes first", function_survived, type_survived, site_survived,
	 NULL, NULL, NULL},
	{"premature", "most bytes promoted, then died, first", NULL, type_premature, site_premature,
	 NULL, NULL, NULL},
	{"live", "most live bytes first", NULL, type_live, site_live, NULL, NULL, NULL},
	{"syscalls", "most time in system calls first", function_syscalls, NULL, NULL, syscall_time,
	 NULL, NULL},
	{"off-cpu", "longest off the CPU first", function_off_cpu, NULL, NULL, syscall_off_cpu,
	 thread_off_cpu, NULL},
	{"count", "most calls first", NULL, NULL, NULL, syscall_count, NULL, program_count},
	{"errors", "most errors first", NULL, NULL, NULL, syscall_errors, NULL, NULL},
	{"faults", "most page faults first", function_faults, NULL, NULL, NULL, NULL,
	 program_faults},
	{"max", "longest call first", NULL, NULL, NULL, syscall_max, NULL, NULL},
};

const char *report_orders(void)
{
	return "cpu, cpu-total, alloc, alloc-total, objects, gc, gc-total, survived, premature, "
	       "live, syscalls, off-cpu, count, errors, faults or max";
}

static const struct order *find_order(const char *name)
{
	for (size_t i = 0; name && i < sizeof(orders) / sizeof(*orders); i++)
		if (strcmp(orders[i].name, name) == 0)
			return &orders[i];
	return NULL;
}

bool report_order_exists(const char *name)
{
	return find_order(name) != NULL;
}

/* Makes the sort stable: equal rows keep their order. */
struct place {
	double key;
	size_t row;
};

static int by_key(const void *a, const void *b)
{
	const struct place *x = a, *y = b;

	if (x->key != y->key)
		return x->key < y->key ? 1 : -1;
	return x->row < y->row ? -1 : x->row > y->row;
}

/* Moves rows of `size` bytes into the order of their places. */
static int rearrange(void *rows, size_t count, size_t size, struct place *places)
{
	char *copy = malloc(count * size + 1);

	if (!copy)
		return -ENOMEM;
	memcpy(copy, rows, count * size);
	qsort(places, count, sizeof(*places), by_key);
	for (size_t i = 0; i < count; i++)
		memcpy((char *)rows + i * size, copy + places[i].row * size, size);
	free(copy);
	return 0;
}

#define SORT(rows, count, key)                                                       \
	do {                                                                         \
		for (size_t i = 0; (key) && i < (count); i++)                        \
			places[i] = (struct place){(key)(&(rows)[i]), i};            \
		if ((key) && (count) && !error)                                      \
			error = rearrange((rows), (count), sizeof(*(rows)), places); \
	} while (0)

static size_t most_rows(const struct model *model)
{
	size_t counts[] = {model->n_functions, model->n_types,   model->n_sites,
			   model->n_syscalls,  model->n_threads, model->n_programs};
	size_t most = 0;

	for (size_t i = 0; i < sizeof(counts) / sizeof(*counts); i++)
		most = counts[i] > most ? counts[i] : most;
	return most;
}

int report_sort(struct model *model, const char *name)
{
	const struct order *order = find_order(name);
	struct place *places;
	int error = 0;

	if (!order)
		return name ? -EINVAL : 0;
	places = calloc(most_rows(model) + 1, sizeof(*places));
	if (!places)
		return -ENOMEM;
	SORT(model->functions, model->n_functions, order->function);
	SORT(model->types, model->n_types, order->type);
	SORT(model->sites, model->n_sites, order->site);
	SORT(model->syscalls, model->n_syscalls, order->syscall);
	SORT(model->threads, model->n_threads, order->thread);
	SORT(model->programs, model->n_programs, order->program);
	free(places);
	return error;
}

/* The wording for a title; `usual` if this table keeps its order. */
const char *report_order_title(const char *name, enum report_table table, const char *usual)
{
	const struct order *order = find_order(name);
	bool sorts[] = {
		[TABLE_FUNCTIONS] = order && order->function,
		[TABLE_TYPES] = order && order->type,
		[TABLE_SITES] = order && order->site,
		[TABLE_SYSCALLS] = order && order->syscall,
		[TABLE_THREADS] = order && order->thread,
		[TABLE_PROGRAMS] = order && order->program,
	};

	return sorts[table] ? order->title : usual;
}
