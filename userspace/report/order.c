/* SPDX-License-Identifier: BSD-2-Clause */
/* order.c: sorts the tables of a model by the user's key. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "report.h"

/* The sort keys of ../model/rows.def, and their wording in titles. */
static const struct order {
	const char *name, *title;
} orders[] = {
	{"cpu", "most self CPU time first"},
	{"cpu-total", "most CPU time first"},
	{"alloc", "most bytes first"},
	{"alloc-total", "most bytes first"},
	{"objects", "most objects first"},
	{"gc", "most collection time first"},
	{"gc-total", "most collection time first"},
	{"survived", "most surviving bytes first"},
	{"premature", "most bytes promoted, then died, first"},
	{"live", "most live bytes first"},
	{"syscalls", "most time in system calls first"},
	{"off-cpu", "longest off the CPU first"},
	{"count", "most calls first"},
	{"errors", "most errors first"},
	{"faults", "most page faults first"},
	{"max", "longest call first"},
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

static int sort_rows(struct model *model, enum row_kind table, const char *key)
{
	unsigned figure = figure_sorted_by(table, key);
	size_t count, size = figure_tables[table].size;
	char *rows = figure_rows(model, table, &count);
	struct place *places;
	int error;

	if (figure == N_FIGURES || !count)
		return 0;
	places = calloc(count, sizeof(*places));
	if (!places)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		places[i] = (struct place){figure_read(model, figure, rows + i * size).real, i};
	error = rearrange(rows, count, size, places);
	free(places);
	return error;
}

int report_sort(struct model *model, const char *name)
{
	int error = name && !find_order(name) ? -EINVAL : 0;

	for (enum row_kind table = 0; name && table < ROWS_END && !error; table++)
		error = sort_rows(model, table, name);
	return error;
}

/* The wording for a title; `usual` if this table keeps its order. */
const char *report_order_title(const char *name, enum row_kind table, const char *usual)
{
	const struct order *order = find_order(name);

	return order && figure_sorted_by(table, name) != N_FIGURES ? order->title : usual;
}
