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

bool diff_is_exact(const struct estimate *estimate)
{
	return estimate->low >= estimate->high;
}

/*
 * The ends are those ratios r for which the interval of value - r * by has 0 at its end: so a ratio
 * lies beyond r if and only if the difference from r times the other figure is certain.
 */
struct estimate diff_ratio(const struct estimate *value, const struct estimate *by)
{
	double a = value->value, b = by->value, product = a * b;
	double below = value->low * (2 * a - value->low),
	       above = value->high * (2 * a - value->high);
	double by_above = by->high * (2 * b - by->high), by_below = by->low * (2 * b - by->low);
	double ratio = a == b ? 1 : a / b; /* also of 0 and 0 */
	struct estimate out = {ratio, 0, INFINITY};

	if (diff_is_exact(value) && diff_is_exact(by))
		return diff_exactly(ratio);
	if (below > 0)
		out.low = below / (product + sqrt(product * product - below * by_above));
	if (by_below > 0)
		out.high = (product + sqrt(product * product - above * by_below)) / by_below;
	return out;
}

enum diff_verdict diff_judge(const struct diff_row *row, double wider)
{
	const struct estimate *change = &row->change;
	double low = change->value - (change->value - change->low) * wider;
	double high = change->value + (change->high - change->value) * wider;

	if (diff_is_exact(&row->before) && diff_is_exact(&row->after))
		return DIFF_EXACT;
	return low > 0 ? DIFF_MORE : high < 0 ? DIFF_LESS : DIFF_NOISE;
}

static void compare(struct diff_row *row)
{
	row->change = diff_change(&row->before, &row->after);
	row->verdict = diff_judge(row, row->rank == DIFF_OF_ROW ? row_wider : 1);
}

int diff_add(struct diff_table *table, const char *name, enum diff_unit unit,
	     struct estimate before, struct estimate after, enum diff_rank rank)
{
	struct diff_row row = {
		.name = name, .unit = unit, .rank = rank, .before = before, .after = after};

	if (array_reserve(&table->rows, &table->capacity, table->count, sizeof(row)) < 0)
		return -ENOMEM;
	compare(&row);
	table->rows[table->count++] = row;
	return 0;
}

const struct model *diff_only_in(const struct diff *diff, unsigned stream)
{
	uint32_t bit = UINT32_C(1) << stream;
	bool before = diff->before->recorded & bit, after = diff->after->recorded & bit;

	return before == after ? NULL : before ? diff->before : diff->after;
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
		struct estimate cpu = diff_ticks(row->cpu_self_ns, model);

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

static int gather_sites(const struct model *model, struct diff_table *table,
			struct figures *figures)
{
	char text[SITE_FUNCTIONS * 256];
	int error = 0;

	for (size_t i = 0; i < model->n_sites && !error; i++) {
		const struct model_site *row = &model->sites[i];
		const char *name;

		if (row->gc_ns.value <= 0)
			continue;
		figure_join(row->functions, text, sizeof(text));
		name = keep_name(table, text);
		error = name ? figures_add(figures, name, &row->gc_ns) : -ENOMEM;
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
		struct estimate time = diff_events((double)row->total_ns, row->squares);

		if (row->estimated)
			time = diff_widest(&time, &row->time);
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

static int gather_calls(const struct model *model, struct diff_table *table,
			struct figures *figures)
{
	int error = 0;

	(void)table;
	for (size_t i = 0; i < model->n_syscalls && !error; i++) {
		const struct model_syscall *row = &model->syscalls[i];
		struct estimate count = row->estimated ? row->calls
						       : diff_exactly((double)row->count);

		error = figures_add(figures, row->name, &count);
	}
	return error;
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
	struct estimate no_ticks[2] = {diff_ticks(0, before), diff_ticks(0, after)};
	struct estimate no_bytes[2] = {estimate_of_nothing(before->alloc.period),
				       estimate_of_nothing(after->alloc.period)};
	struct estimate nothing[2] = {diff_exactly(0), diff_exactly(0)};
	int error;

	*diff = (struct diff){.before = before, .after = after};
	error = diff_make_totals(diff);
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
	if (!error && !model_calls_unknown(before) && !model_calls_unknown(after))
		error = make_table(diff, &diff->calls, DIFF_COUNT, NEEDS_SYSCALL, gather_calls,
				   nothing);
	return error;
}

void diff_divide(struct diff *diff)
{
	struct diff_table *tables[] = {&diff->totals, &diff->functions, &diff->types,
				       &diff->sites,  &diff->syscalls,  &diff->calls};

	for (size_t i = 0; i < sizeof(tables) / sizeof(*tables); i++) {
		for (size_t j = 0; j < tables[i]->count; j++) {
			struct diff_row *row = &tables[i]->rows[j];

			if (row->figure && row->figure->level)
				continue;
			row->divided = true;
			row->before = diff_ratio(&row->before, &diff->per.of[0]);
			row->after = diff_ratio(&row->after, &diff->per.of[1]);
			compare(row);
		}
		if (i) /* totals keep their order */
			diff_sort(tables[i]);
	}
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
	table_clear(&diff->calls);
}

struct estimate diff_ticks(double ns, const struct model *model)
{
	double all = (double)(model->cpu.on_cpu_ns - model->cpu.no_samples_ns);
	double usual = model->run.frequency ? 1e9 / (double)model->run.frequency : 0;
	double tick = all > 0 ? model->cpu.squares / all : usual;
	struct tally tally = {.value = ns, .variance = ns * tick};

	return ns > 0 ? tally_estimate(&tally) : estimate_of_nothing((uint64_t)tick);
}

struct estimate diff_events(double ns, double squares)
{
	struct tally tally = {.value = ns, .variance = squares};

	return tally_estimate(&tally);
}

struct estimate diff_widest(const struct estimate *a, const struct estimate *b)
{
	return (struct estimate){a->value, fmin(a->low, b->low), fmax(a->high, b->high)};
}

static struct estimate cpu_time(const struct model *model)
{
	double ns = (double)model->cpu.on_cpu_ns;

	return model->cpu.exact ? diff_exactly(ns) : diff_ticks(ns, model);
}

static struct estimate pauses(const struct model_pauses *pauses)
{
	return diff_events((double)pauses->total_ns, pauses->squares);
}

static struct estimate all_pauses(const struct model_gc *gc)
{
	return diff_events(model_gc_ns(gc), gc->minor.squares + gc->major.squares +
						    gc->others.squares + gc->around.squares);
}

static struct estimate longest(const struct model_gc *gc)
{
	return diff_exactly(fmax(fmax((double)gc->minor.max_ns, (double)gc->major.max_ns),
				 (double)gc->others.max_ns));
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

/* An estimate if system calls were not always traced; otherwise exact. */
static struct estimate calls_of(const struct model *model)
{
	return model->tracing.estimated ? model->tracing.count
					: diff_exactly((double)model->syscall_count);
}

/* The variance of the total is the sum of the variances of its rows. */
static struct estimate calls_time_of(const struct model *model)
{
	struct estimate time;
	double squares = 0;

	for (size_t i = 0; i < model->n_syscalls; i++)
		squares += model->syscalls[i].squares;
	time = diff_events((double)model->syscall_ns, squares);
	return model->tracing.estimated ? diff_widest(&time, &model->tracing.time) : time;
}

/* Whether the figure is known, unless a stream is missing that it needs. */
#define TOTAL(key, name, unit, kind, work, needs, known, of)                   \
	static bool read_##key(const struct model *m, struct estimate *value)  \
	{                                                                      \
		*value = (known) ? (of) : (struct estimate){.high = INFINITY}; \
		return known;                                                  \
	}
#include "diff_figures.def"

enum { SUM, LEVEL };
enum { NEEDS_CPU_GC = NEEDS_CPU | NEEDS_GC };

const struct diff_figure diff_figures[DIFF_FIGURES] = {
#define TOTAL(key, name, unit, kind, work, needs, known, of) \
	{#key, name, DIFF_##unit, NEEDS_##needs, kind == LEVEL, work, read_##key},
#include "diff_figures.def"
};

bool diff_read(const struct diff_figure *figure, const struct model *model, struct estimate *value)
{
	return model_has(model, figure->needs) && figure->read(model, value);
}

int diff_make_totals(struct diff *diff)
{
	int error = 0;

	for (size_t i = 0; i < DIFF_FIGURES && !error; i++) {
		const struct diff_figure *figure = &diff_figures[i];
		struct estimate before, after;

		if (!diff_read(figure, diff->before, &before) ||
		    !diff_read(figure, diff->after, &after))
			continue;
		error = diff_add(&diff->totals, figure->name, figure->unit, before, after,
				 DIFF_OF_TOTAL);
		if (!error)
			diff->totals.rows[diff->totals.count - 1].figure = figure;
	}
	return error;
}
