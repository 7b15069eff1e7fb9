/* SPDX-License-Identifier: BSD-2-Clause */
/* diff.c: computes what changed between two profiles, and whether it may be noise. */
#include "diff.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../model/figures.h"
#include "../model/world/arena.h"
#include "../util/map.h"
#include "advice.h"

/* From the 95 % quantile of the normal distribution to the 99.9 % quantile. */
static const double row_wider = 3.2905 / 1.95996;

struct estimate diff_change(const struct estimate *before, const struct estimate *after)
{
	double change = after->value - before->value;

	return (struct estimate){
		change,
		change - hypot(after->value - after->low, before->high - before->value),
		change + hypot(after->high - after->value, before->value - before->low),
	};
}

static bool is_exact(const struct estimate *estimate)
{
	return estimate->low >= estimate->high;
}

enum diff_verdict diff_judge(const struct diff_row *row, double wider)
{
	const struct estimate *change = &row->change;
	double low = change->value - (change->value - change->low) * wider;
	double high = change->value + (change->high - change->value) * wider;

	if (is_exact(&row->before) && is_exact(&row->after))
		return DIFF_EXACT;
	return low > 0 ? DIFF_MORE : high < 0 ? DIFF_LESS : DIFF_NOISE;
}

static struct estimate exactly(double value)
{
	return (struct estimate){value, value, value};
}

/* Timer samples are random: a Poisson count, in which samples may have different weights. */
static struct estimate ticks(double ns, const struct model *model)
{
	double all = (double)(model->cpu.on_cpu_ns - model->cpu.no_samples_ns);
	double usual = model->run.frequency ? 1e9 / (double)model->run.frequency : 0;
	double tick = all > 0 ? model->cpu.squares / all : usual;
	struct tally tally = {.value = ns, .variance = ns * tick};

	return ns > 0 ? tally_estimate(&tally) : estimate_of_nothing((uint64_t)tick);
}

static struct estimate cpu_time(const struct model *model)
{
	double ns = (double)model->cpu.on_cpu_ns;

	return model->cpu.exact ? exactly(ns) : ticks(ns, model);
}

/* The total time of random events; `squares` is the sum of the squared times, its variance. */
static struct estimate total_of(double ns, double squares)
{
	struct tally tally = {.value = ns, .variance = squares};

	return tally_estimate(&tally);
}

int diff_add(struct diff_table *table, const char *name, enum diff_unit unit,
	     struct estimate before, struct estimate after, enum diff_rank rank)
{
	struct diff_row row = {.name = name, .unit = unit, .before = before, .after = after};

	if (array_reserve(&table->rows, &table->capacity, table->count, sizeof(row)) < 0)
		return -ENOMEM;
	row.change = diff_change(&before, &after);
	row.verdict = diff_judge(&row, rank == DIFF_OF_ROW ? row_wider : 1);
	table->rows[table->count++] = row;
	return 0;
}

const struct model *diff_only_in(const struct diff *diff, unsigned stream)
{
	uint32_t bit = UINT32_C(1) << stream;
	bool before = diff->before->recorded & bit, after = diff->after->recorded & bit;

	return before == after ? NULL : before ? diff->before : diff->after;
}

static double premature_bytes(const struct model *model)
{
	double sum = 0;

	for (size_t i = 0; i < model->n_types; i++)
		sum += model->types[i].life.premature_bytes;
	return sum;
}

/* Part of the allocated bytes: each byte is as uncertain as those of the total. */
static struct estimate part_of(double value, const struct model_alloc *alloc)
{
	double reach = alloc->bytes.high - alloc->bytes.value;
	struct tally tally = {.value = value};

	if (value <= 0)
		return estimate_of_nothing(alloc->period);
	if (alloc->bytes.value > 0)
		tally.variance = reach * reach / 3.8415 * value / alloc->bytes.value;
	return tally_estimate(&tally);
}

/* Two intervals around the same value: takes the farther ends. */
static struct estimate widest(const struct estimate *a, const struct estimate *b)
{
	return (struct estimate){a->value, fmin(a->low, b->low), fmax(a->high, b->high)};
}

/* An estimate if system calls were not always traced; otherwise exact. */
static struct estimate calls_of(const struct model *model)
{
	if (model_calls_unknown(model))
		return (struct estimate){.high = INFINITY};
	return model->tracing.estimated ? model->tracing.count
					: exactly((double)model->syscall_count);
}

/* The variance of the total is the sum of the variances of its rows. */
static struct estimate calls_time_of(const struct model *model)
{
	struct estimate time;
	double squares = 0;

	if (model_calls_unknown(model))
		return (struct estimate){.high = INFINITY};
	for (size_t i = 0; i < model->n_syscalls; i++)
		squares += model->syscalls[i].squares;
	time = total_of((double)model->syscall_ns, squares);
	return model->tracing.estimated ? widest(&time, &model->tracing.time) : time;
}

#define TOTAL(name, unit, before, after)                                                           \
	do {                                                                                       \
		if (!error)                                                                        \
			error = diff_add(&diff->totals, name, unit, before, after, DIFF_OF_TOTAL); \
	} while (0)
#define EXACT(name, unit, field) \
	TOTAL(name, unit, exactly((double)a->field), exactly((double)b->field))

static int make_totals(struct diff *diff)
{
	const struct model *a = diff->before, *b = diff->after;
	int error = 0;

	EXACT("wall time", DIFF_TIME, run.wall);
	if (model_has(a, NEEDS_CPU) && model_has(b, NEEDS_CPU)) {
		TOTAL("CPU time", DIFF_TIME, cpu_time(a), cpu_time(b));
		if (model_has(a, NEEDS_GC) && model_has(b, NEEDS_GC))
			TOTAL("CPU time in collections", DIFF_TIME,
			      ticks((double)a->cpu.in_gc_ns, a), ticks((double)b->cpu.in_gc_ns, b));
	}
	if (model_has(a, NEEDS_GC) && model_has(b, NEEDS_GC)) {
		TOTAL("pauses, minor", DIFF_TIME,
		      total_of((double)a->gc.minor.total_ns, a->gc.minor.squares),
		      total_of((double)b->gc.minor.total_ns, b->gc.minor.squares));
		TOTAL("pauses, major", DIFF_TIME,
		      total_of((double)a->gc.major.total_ns, a->gc.major.squares),
		      total_of((double)b->gc.major.total_ns, b->gc.major.squares));
		EXACT("longest minor pause", DIFF_TIME, gc.minor.max_ns);
		EXACT("longest major pause", DIFF_TIME, gc.major.max_ns);
		EXACT("minor collections", DIFF_COUNT, gc.minor.count);
		EXACT("major collections", DIFF_COUNT, gc.major.cycles);
		EXACT("promoted", DIFF_BYTES, gc.promoted_bytes);
		EXACT("peak heap", DIFF_BYTES, gc.heap_peak_bytes);
	}
	if (model_has(a, NEEDS_ALLOC) && model_has(b, NEEDS_ALLOC)) {
		TOTAL("allocated", DIFF_BYTES, a->alloc.bytes, b->alloc.bytes);
		TOTAL("objects", DIFF_COUNT, a->alloc.objects, b->alloc.objects);
		TOTAL("promoted, then died", DIFF_BYTES, part_of(premature_bytes(a), &a->alloc),
		      part_of(premature_bytes(b), &b->alloc));
	}
	if (model_has(a, NEEDS_SYSCALL) && model_has(b, NEEDS_SYSCALL)) {
		TOTAL("system calls", DIFF_COUNT, calls_of(a), calls_of(b));
		TOTAL("time in system calls", DIFF_TIME, calls_time_of(a), calls_time_of(b));
	}
	return error;
}

/* Named figures of one profile. Figures with equal names are added up. */
struct figures {
	struct map *index;
	struct estimate *items;
	const char **names;
	size_t count, capacity, names_capacity;
};

static int figures_add(struct figures *figures, const char *name, const struct estimate *estimate)
{
	bool added;
	uint64_t *number = map_put_string(figures->index, name, strlen(name), &added);
	struct estimate *item;

	if (!number ||
	    array_reserve(&figures->items, &figures->capacity, figures->count, sizeof(*item)) < 0 ||
	    array_reserve(&figures->names, &figures->names_capacity, figures->count,
			  sizeof(*figures->names)) < 0)
		return -ENOMEM;
	if (added) {
		*number = figures->count++;
		figures->names[*number] = name;
		figures->items[*number] = *estimate;
		return 0;
	}
	item = &figures->items[*number];
	*item = (struct estimate){
		item->value + estimate->value,
		item->value + estimate->value -
			hypot(item->value - item->low, estimate->value - estimate->low),
		item->value + estimate->value +
			hypot(item->high - item->value, estimate->high - estimate->value),
	};
	return 0;
}

static void figures_free(struct figures *figures)
{
	map_free(figures->index);
	free(figures->items);
	free(figures->names);
}

/* Copies a name into the table; NULL: no memory. */
static const char *keep_name(struct diff_table *table, const char *text)
{
	char *copy = strdup(text);

	if (!copy || array_reserve(&table->names, &table->names_capacity, table->n_names,
				   sizeof(*table->names)) < 0) {
		free(copy);
		return NULL;
	}
	table->names[table->n_names++] = copy;
	return copy;
}

/* Collects the figures of a table from a model. */
typedef int gather_fn(const struct model *model, struct diff_table *table, struct figures *figures);

static int gather_functions(const struct model *model, struct diff_table *table,
			    struct figures *figures)
{
	int error = 0;

	(void)table;
	for (size_t i = 0; i < model->n_functions && !error; i++) {
		const struct model_function *row = &model->functions[i];
		struct estimate cpu = ticks(row->cpu_self_ns, model);

		if (row->cpu_self_ns > 0)
			error = figures_add(figures, row->name, &cpu);
	}
	return error;
}

static int gather_types(const struct model *model, struct diff_table *table,
			struct figures *figures)
{
	int error = 0;

	(void)table;
	for (size_t i = 0; i < model->n_types && !error; i++)
		error = figures_add(figures, model->types[i].name, &model->types[i].bytes);
	return error;
}

/* The cost charged to a site is as uncertain as the bytes by which it is charged. */
static int gather_sites(const struct model *model, struct diff_table *table,
			struct figures *figures)
{
	char text[SITE_FUNCTIONS * 256];
	int error = 0;

	for (size_t i = 0; i < model->n_sites && !error; i++) {
		const struct model_site *row = &model->sites[i];
		double part = row->bytes.value > 0 ? row->gc_ns / row->bytes.value : 0;
		struct estimate gc = {row->gc_ns, row->bytes.low * part, row->bytes.high * part};
		const char *name;

		if (row->gc_ns <= 0)
			continue;
		figure_join(row->functions, text, sizeof(text));
		name = keep_name(table, text);
		error = name ? figures_add(figures, name, &gc) : -ENOMEM;
	}
	return error;
}

static int gather_syscalls(const struct model *model, struct diff_table *table,
			   struct figures *figures)
{
	int error = 0;

	(void)table;
	for (size_t i = 0; i < model->n_syscalls && !error; i++) {
		const struct model_syscall *row = &model->syscalls[i];
		struct estimate time = total_of((double)row->total_ns, row->squares);

		if (row->estimated)
			time = widest(&time, &row->time);
		error = figures_add(figures, row->name, &time);
	}
	return error;
}

/* Certain changes first; within each group, larger ones first. */
static int by_change(const void *a, const void *b)
{
	const struct diff_row *x = a, *y = b;
	bool noise[] = {x->verdict == DIFF_NOISE, y->verdict == DIFF_NOISE};
	double size[] = {fabs(x->change.value), fabs(y->change.value)};

	if (noise[0] != noise[1])
		return noise[0] ? 1 : -1;
	if (size[0] != size[1])
		return size[0] < size[1] ? 1 : -1;
	return strcmp(x->name, y->name);
}

void diff_sort(struct diff_table *table)
{
	if (table->count)
		qsort(table->rows, table->count, sizeof(*table->rows), by_change);
}

static int join(struct diff_table *table, enum diff_unit unit, const struct figures sides[2],
		const struct estimate missing[2])
{
	int error = 0;

	for (int side = 0; side < 2; side++) {
		for (size_t i = 0; i < sides[side].count && !error; i++) {
			const char *name = sides[side].names[i];
			const uint64_t *other =
				map_get_string(sides[!side].index, name, strlen(name));
			struct estimate pair[2];

			/* Names in both profiles were added with the first. */
			if (side == 1 && other)
				continue;
			pair[side] = sides[side].items[i];
			pair[!side] = other ? sides[!side].items[*other] : missing[!side];
			error = diff_add(table, name, unit, pair[0], pair[1], DIFF_OF_ROW);
		}
	}
	diff_sort(table);
	return error;
}

static int make_table(const struct diff *diff, struct diff_table *table, enum diff_unit unit,
		      uint32_t needs, gather_fn *gather, const struct estimate missing[2])
{
	struct figures sides[2] = {{.index = map_create(MAP_STRING_KEYS)},
				   {.index = map_create(MAP_STRING_KEYS)}};
	int error = sides[0].index && sides[1].index ? 0 : -ENOMEM;

	if (model_has(diff->before, needs) && model_has(diff->after, needs)) {
		if (!error)
			error = gather(diff->before, table, &sides[0]);
		if (!error)
			error = gather(diff->after, table, &sides[1]);
		if (!error)
			error = join(table, unit, sides, missing);
	}
	figures_free(&sides[0]);
	figures_free(&sides[1]);
	return error;
}

int diff_make(const struct model *before, const struct model *after, struct diff *diff)
{
	/* An event without samples may still have happened. */
	struct estimate no_ticks[2] = {ticks(0, before), ticks(0, after)};
	struct estimate no_bytes[2] = {estimate_of_nothing(before->alloc.period),
				       estimate_of_nothing(after->alloc.period)};
	struct estimate nothing[2] = {exactly(0), exactly(0)};
	int error;

	*diff = (struct diff){.before = before, .after = after};
	error = make_totals(diff);
	if (!error)
		error = make_table(diff, &diff->functions, DIFF_TIME, NEEDS_CPU, gather_functions,
				   no_ticks);
	if (!error)
		error = make_table(diff, &diff->types, DIFF_BYTES, NEEDS_ALLOC, gather_types,
				   no_bytes);
	if (!error)
		error = make_table(diff, &diff->sites, DIFF_TIME, NEEDS_ALLOC, gather_sites,
				   nothing);
	if (!error && !model_calls_unknown(before) && !model_calls_unknown(after))
		error = make_table(diff, &diff->syscalls, DIFF_TIME, NEEDS_SYSCALL, gather_syscalls,
				   nothing);
	return error;
}

static void table_clear(struct diff_table *table)
{
	for (size_t i = 0; i < table->n_names; i++)
		free(table->names[i]);
	free(table->names);
	free(table->rows);
}

void diff_free(struct diff *diff)
{
	table_clear(&diff->totals);
	table_clear(&diff->functions);
	table_clear(&diff->types);
	table_clear(&diff->sites);
	table_clear(&diff->pauses);
	table_clear(&diff->syscalls);
}
