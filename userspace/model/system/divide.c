/* SPDX-License-Identifier: BSD-2-Clause */
/* divide.c: how many system calls of a profile a filter selects. */
/*
 * The kernel side keeps exact totals of each call in each process. It records some calls
 * individually, with the number of calls that each record stands for. A selection gets the same
 * share of a total as of its records, with an interval. If terms about the process or call decide
 * alone, it gets all or nothing. If the share is unknown, it gets nothing, and that is reported.
 * See README.md, "System calls of a selection".
 */
#include "syscalls.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "../../../bpf/events.h"
#include "../../util/map.h"
#include "../select/selection.h"
#include "../world/arena.h"
#include "../world/world.h"

#define NS_MAX (UINT64_C(1) << 62)

/* One call over all processes. */
struct division {
	struct call sum; /* figures without intervals; percentiles */
	double value[CALL_FIGURES];
	double below[CALL_FIGURES], above[CALL_FIGURES]; /* squared deviations */
	struct share count, time; /* over all processes with records that decide */
	double all;               /* traced calls, selected or not */
	double left_out;          /* calls of which an unknown part is selected */
};

struct dividing {
	const struct syscalls *syscalls;
	struct world *world;
	struct division *items; /* item 0 is unused; see `index` */
	size_t count, capacity;
	struct map *index;
	bool timed;  /* the selected time was traced */
	bool stacks; /* calls without a stack cannot be selected */
};

static struct division *division_of(struct dividing *dividing, uint64_t number)
{
	uint64_t *item = map_put(dividing->index, &number, NULL);

	if (!item || array_reserve(&dividing->items, &dividing->capacity, dividing->count + 1,
				   sizeof(*dividing->items)) < 0)
		return NULL;
	if (!*item) {
		*item = ++dividing->count;
		dividing->items[*item].sum.number = number;
	}
	return &dividing->items[*item];
}

/* A total and its records. */
struct call_figures {
	uint64_t process, number;
	const struct call *total;   /* NULL: only records exist */
	const struct call *records; /* NULL: no records */
};

static double calls_in(const struct call_figures *figures)
{
	double total = figures->total ? (double)figures->total->count : 0;
	double records = figures->records ? (double)figures->records->part.records : 0;

	return fmax(total, records);
}

static bool has_all_records(const struct call_figures *figures)
{
	return figures->records && (double)figures->records->part.records >= calls_in(figures);
}

static void add_value(struct division *division, struct process *process, enum call_figure figure,
		      const struct estimate *estimate)
{
	double below = estimate->value - estimate->low, above = estimate->high - estimate->value;

	division->value[figure] += estimate->value;
	division->below[figure] += below * below;
	division->above[figure] += above * above;
	if (process && figure == CALL_COUNT)
		process->calls += estimate->value;
	else if (process)
		process->call_ns += estimate->value;
}

static void add_exactly(struct division *division, struct process *process, const struct call *call,
			uint64_t seen)
{
	const double values[CALL_FIGURES] = {(double)call->count, (double)call->total_ns};

	for (int figure = 0; figure < CALL_FIGURES; figure++)
		add_value(division, process, (enum call_figure)figure,
			  &(struct estimate){values[figure], values[figure], values[figure]});
	call_merge(&division->sum, call);
	division->sum.count -= call->count - seen;
	/* Selected waits are counted from their own records. */
	division->sum.waits = division->sum.wait_ns = 0;
}

/* Adds `whole` times the share. Calls without any record use the share of the other processes. */
static void add_share(struct division *division, struct process *process, enum call_figure figure,
		      double whole, const struct share *share)
{
	struct estimate part = share_estimate(share);

	if (part.value < 0)
		part.value = 0;
	part.value *= whole;
	part.low *= whole;
	part.high *= whole;
	add_value(division, process, figure, &part);
}

/* Adds the figures without intervals, and percentiles. They come from the records, scaled. */
static void add_records(struct division *division, const struct call *records, double scale)
{
	const struct call_part *part = &records->part;
	struct call call = *records;

	call.errors = (uint64_t)(part->errors * scale + 0.5);
	call.gc_count = (uint64_t)(part->gc_count * scale + 0.5);
	call.gc_ns = (uint64_t)fmin(part->gc_ns * scale + 0.5, (double)NS_MAX);
	call_merge(&division->sum, &call);
}

static void add_estimated(struct division *division, struct process *process,
			  const struct call_figures *figures)
{
	const struct call *records = figures->records;
	double whole = calls_in(figures);
	bool any = records != NULL;

	if (any ? records->part.unknown : division->count.all <= 0) {
		division->left_out += whole;
		return;
	}
	add_share(division, process, CALL_COUNT, whole,
		  any ? &records->part.count : &division->count);
	add_share(division, process, CALL_NS, figures->total ? (double)figures->total->total_ns : 0,
		  any ? &records->part.time : &division->time);
	if (any)
		add_records(division, records, whole / records->part.count.all);
}

/* Were short calls recorded at random? If not, only slow ones or none were recorded. */
static bool is_sampled(const struct world *world)
{
	return world->model->run.syscall_rate > 0;
}

static void divide(struct dividing *dividing, struct division *division,
		   const struct call_figures *figures)
{
	struct world *world = dividing->world;
	struct process *process = tasks_find_process(&world->tasks, figures->process);
	enum selection_verdict verdict = selection_of_calls(dividing->syscalls->selection,
							    figures->process, figures->number);

	if (verdict == SELECTION_NONE)
		return;
	if (verdict == SELECTION_SOME && dividing->stacks && figures->records)
		world->model->calls_stackless += calls_in(figures) *
						 figures->records->part.stackless /
						 figures->records->part.count.all;
	if (verdict == SELECTION_ALL)
		add_exactly(division, process, figures->total ? figures->total : figures->records,
			    (uint64_t)calls_in(figures));
	else if (has_all_records(figures))
		add_exactly(division, process, figures->records, figures->records->count);
	else if (!is_sampled(world))
		division->left_out += calls_in(figures);
	else
		add_estimated(division, process, figures);
}

/* Calls `visit` for each total with its records, and for records without a total. */
static int for_each_call(struct dividing *dividing,
			 void (*visit)(struct dividing *, struct division *,
				       const struct call_figures *))
{
	const struct syscalls *syscalls = dividing->syscalls;
	const struct calls *tables[] = {&syscalls->totals, &syscalls->records};

	for (int records = 0; records < 2; records++) {
		const struct calls *others = tables[!records];
		size_t cursor = 0;
		const void *key;
		uint64_t *item;

		while (map_next(tables[records]->index, &cursor, &key, &item)) {
			const struct call *call = &tables[records]->items[*item];
			const uint64_t *match = map_get(others->index, key);
			const struct call *other = match ? &others->items[*match] : NULL;
			struct call_figures figures = {*(const uint64_t *)key, call->number,
						       records ? NULL : call,
						       records ? call : other};
			struct division *division = division_of(dividing, call->number);

			if (!division)
				return -ENOMEM;
			if (!records || !other)
				visit(dividing, division, &figures);
		}
	}
	return 0;
}

/* First pass: counts all calls, and merges the shares of all processes. */
static void prepare(struct dividing *dividing, struct division *division,
		    const struct call_figures *figures)
{
	const struct call *records = figures->records;

	division->all += calls_in(figures);
	if (!records || records->part.unknown ||
	    selection_of_calls(dividing->syscalls->selection, figures->process, figures->number) !=
		    SELECTION_SOME)
		return;
	share_merge(&division->count, &records->part.count);
	share_merge(&division->time, &records->part.time);
}

static struct estimate estimate_of(const struct division *division, enum call_figure figure)
{
	double value = division->value[figure];

	return (struct estimate){value, fmax(value - sqrt(division->below[figure]), 0),
				 value + sqrt(division->above[figure])};
}

/* Raises an estimate by the same factor as the total including untraced calls. */
static void scale(struct estimate *estimate, const struct estimate *whole, double seen)
{
	double times = seen > 0 ? whole->value / seen : 1;
	double below, above;

	if (whole->value <= 0)
		return;
	below = hypot(estimate->value - estimate->low,
		      estimate->value * (1 - whole->low / whole->value));
	above = hypot(estimate->high - estimate->value,
		      estimate->value * (whole->high / whole->value - 1));
	*estimate = (struct estimate){times * estimate->value,
				      times * fmax(estimate->value - below, 0),
				      times * (estimate->value + above)};
}

static uint64_t rounded(double value)
{
	return value < (double)NS_MAX ? (uint64_t)(value + 0.5) : NS_MAX;
}

static int put_row(struct dividing *dividing, const struct division *division)
{
	const struct call_windows *windows = &dividing->syscalls->windows;
	struct model *model = dividing->world->model;
	struct model_syscall *row = &model->syscalls[model->n_syscalls];
	struct estimate whole;

	*row = syscall_row(&division->sum, model);
	if (!row->name)
		return -ENOMEM;
	row->calls = estimate_of(division, CALL_COUNT);
	row->time = estimate_of(division, CALL_NS);
	if (division->all > 0 && !dividing->timed &&
	    call_windows_estimate(windows, division->sum.number, CALL_COUNT, division->all,
				  &whole)) {
		scale(&row->calls, &whole, division->all);
		scale(&row->time, &whole, division->all);
	}
	row->calls.low = fmax(row->calls.low, fmin((double)division->sum.count, row->calls.value));
	row->estimated = row->calls.high > row->calls.low || row->time.high > row->time.low;
	row->count = rounded(row->calls.value);
	row->total_ns = rounded(row->time.value);
	model->n_syscalls += row->count > 0;
	return 0;
}

static void add_to(struct estimate *sum, double squares[2], const struct estimate *row)
{
	sum->value += row->value;
	squares[0] += (row->value - row->low) * (row->value - row->low);
	squares[1] += (row->high - row->value) * (row->high - row->value);
}

static void add_up(struct model *model)
{
	struct estimate count = {0}, time = {0};
	double squares[2][2] = {{0}};

	for (size_t i = 0; i < model->n_syscalls; i++) {
		const struct model_syscall *row = &model->syscalls[i];

		model->tracing.estimated |= row->estimated;
		model->syscall_count += row->count;
		model->syscall_ns += row->total_ns;
		model->syscall_gc_ns += row->in_gc_ns;
		add_to(&count, squares[0], &row->calls);
		add_to(&time, squares[1], &row->time);
	}
	model->tracing.count = (struct estimate){count.value, count.value - sqrt(squares[0][0]),
						 count.value + sqrt(squares[0][1])};
	model->tracing.time = (struct estimate){time.value, time.value - sqrt(squares[1][0]),
						time.value + sqrt(squares[1][1])};
}

static int put_rows(struct dividing *dividing)
{
	struct model *model = dividing->world->model;
	int error = 0;

	model->tracing.estimated = false;
	model->syscalls = calloc(dividing->count + 1, sizeof(*model->syscalls));
	if (!model->syscalls)
		return -ENOMEM;
	for (size_t i = 1; i <= dividing->count && !error; i++) {
		const struct division *division = &dividing->items[i];

		if (division->left_out > 0)
			model->calls_left_out += division->left_out;
		else if (model->calls_untraced)
			model->calls_left_out += division->value[CALL_COUNT];
		else
			error = put_row(dividing, division);
	}
	add_up(model);
	return error;
}

int divide_finish(const struct syscalls *syscalls, struct world *world)
{
	struct dividing dividing = {
		.syscalls = syscalls, .world = world, .index = map_create(sizeof(uint64_t))};
	int error = dividing.index ? 0 : -ENOMEM;

	dividing.stacks = selection_needs_stacks(syscalls->selection->filter);
	dividing.timed = selection_has_time(syscalls->selection->filter, 0, UINT64_MAX);
	error = error ? error : for_each_call(&dividing, prepare);
	error = error ? error : for_each_call(&dividing, divide);
	error = error ? error : put_rows(&dividing);
	free(dividing.items);
	map_free(dividing.index);
	return error;
}
