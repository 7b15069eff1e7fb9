/* SPDX-License-Identifier: BSD-2-Clause */
/* syscalls.c: system calls, summed over processes. */
#include "syscalls.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../../util/map.h"
#include "../select/selection.h"
#include "../world/arena.h"
#include "../world/durations.h"
#include "../world/syscall_text.h"
#include "../world/world.h"

enum { ERRNO_MAX = 4095 };

struct call_key {
	uint64_t process, number;
};

static int calls_init(struct calls *calls)
{
	calls->count = 1;
	calls->index = map_create(sizeof(struct call_key));
	return calls->index ? 0 : -ENOMEM;
}

static void calls_free(struct calls *calls)
{
	free(calls->items);
	map_free(calls->index);
}

int syscalls_init(struct syscalls *syscalls, const struct selection *selection)
{
	*syscalls = (struct syscalls){.selection = selection};
	syscalls->cpu = map_create(sizeof(uint64_t));
	if (!syscalls->cpu || calls_init(&syscalls->totals) < 0 ||
	    calls_init(&syscalls->records) < 0 || call_windows_init(&syscalls->windows) < 0)
		return -ENOMEM;
	return 0;
}

void syscalls_free(struct syscalls *syscalls)
{
	calls_free(&syscalls->totals);
	calls_free(&syscalls->records);
	call_windows_free(&syscalls->windows);
	map_free(syscalls->cpu);
}

/* The item of a call, created if needed; NULL: no memory. Valid until the next one is created. */
static struct call *calls_get(struct calls *calls, uint64_t process, uint64_t number)
{
	struct call_key key = {process, number};
	uint64_t *item = map_put(calls->index, &key, NULL);

	if (!item ||
	    array_reserve(&calls->items, &calls->capacity, calls->count, sizeof(*calls->items)) < 0)
		return NULL;
	if (!*item) {
		*item = calls->count;
		calls->items[calls->count++].number = number;
	}
	return &calls->items[*item];
}

/* Keeps the longest calls, in order. */
static void note_slow(struct syscalls *syscalls, const struct record_syscall *record)
{
	size_t at = syscalls->n_slow;

	if (at == SLOW_CALLS && record->duration <= syscalls->slow[at - 1].duration)
		return;
	if (at < SLOW_CALLS)
		syscalls->n_slow++;
	else
		at--;
	for (; at && syscalls->slow[at - 1].duration < record->duration; at--)
		syscalls->slow[at] = syscalls->slow[at - 1];
	syscalls->slow[at] = *record;
}

int syscalls_record(struct syscalls *syscalls, struct world *world, const struct event *event)
{
	const struct record_syscall *record = &event->record->syscall;
	const struct thread *thread = tasks_find_thread(&world->tasks, record->thread);
	struct window *window;
	uint64_t number = record->number & UINT32_MAX;
	struct call *call;
	int64_t cost;

	if (!thread)
		return -EBADMSG;
	if (record->flags & SYSCALL_COMPAT)
		number |= SYSCALL_NUMBER_COMPAT;
	call = calls_get(&syscalls->records, thread->process, number);
	if (!call)
		return -ENOMEM;
	call_part_add(&call->part, record, event->selected);
	if (!event->selected)
		return 0;
	cost = record->stack ? tree_cost(&world->tree, record->stack) : 0;
	if (cost < 0)
		return -ENOMEM;
	if (cost) {
		struct cost_rest *rest = tree_rest(&world->tree, (uint32_t)cost);

		if (!rest)
			return -ENOMEM;
		rest->syscall_ns += call_stands_ns(record);
		world->model->syscall_stack_ns += call_stands_ns(record);
	}
	window = timeline_at(&world->timeline, record->time);
	note_slow(syscalls, record);
	window->syscalls++;
	timeline_call(&world->timeline, record->time - record->duration, record->time);
	call->count++;
	call->errors += !(record->flags & SYSCALL_UNFINISHED) && record->result < 0 &&
			record->result >= -ERRNO_MAX;
	call->total_ns += record->duration;
	call->gc_count += record->gc_ns > 0;
	call->gc_ns += record->gc_ns;
	call->histogram[syscall_bucket(record->duration)] += call_stands(record);
	if (record->duration > call->max_ns)
		call->max_ns = record->duration;
	return 0;
}

/* Notes whether the filter selects time in a gap. */
static void note_gap(const struct syscalls *syscalls, struct model *model, uint64_t from,
		     uint64_t to)
{
	uint64_t start = model->run.start;

	if (syscalls->selection && from && to > from && from >= start)
		model->calls_untraced |=
			selection_has_time(syscalls->selection->filter, from - start, to - start);
}

int syscalls_window(struct syscalls *syscalls, struct world *world,
		    const struct record_call_window *record)
{
	uint64_t gap = 0;
	int err = call_windows_add(&syscalls->windows, record, &gap);

	note_gap(syscalls, world->model, gap, record->begin);
	return err;
}

int syscalls_call_cpu(struct syscalls *syscalls, const struct world *world,
		      const struct record_call_cpu *record)
{
	const struct process *process = tasks_find_process(&world->tasks, record->process);

	if (!process)
		return -EBADMSG;
	return call_windows_cpu(&syscalls->windows, process->recording, process->time, record);
}

int syscalls_cpu(struct syscalls *syscalls, const struct event *event)
{
	const struct record_cpu *record = &event->record->cpu;
	uint64_t number = record->call - 1, *ns;

	if (!event->selected || !record->call)
		return 0;
	ns = map_put(syscalls->cpu, &number, NULL);
	if (!ns)
		return -ENOMEM;
	*ns += record->ns;
	return 0;
}

int syscalls_total(struct syscalls *syscalls, const struct world *world,
		   const struct record_syscall_total *record)
{
	const struct process *process = tasks_find_process(&world->tasks, record->process);
	double more[CALL_FIGURES];
	struct call *call;

	if (!process)
		return -EBADMSG;
	call = calls_get(&syscalls->totals, record->process, record->number & UINT32_MAX);
	if (!call)
		return -ENOMEM;
	more[CALL_COUNT] = (double)record->count;
	more[CALL_NS] = (double)record->total_ns;
	call->count += record->count;
	call->errors += record->errors;
	call->total_ns += record->total_ns;
	call->gc_count += record->gc_count;
	call->gc_ns += record->gc_ns;
	call->waits += record->waits;
	call->wait_ns += record->wait_ns;
	if (record->max_ns > call->max_ns)
		call->max_ns = record->max_ns;
	if (record->wait_max > call->wait_max)
		call->wait_max = record->wait_max;
	histogram_add(record->histogram, call->histogram);
	return call_windows_calls(&syscalls->windows, process->recording, record->process,
				  call->number, more);
}

void call_merge(struct call *into, const struct call *from)
{
	into->count += from->count;
	into->errors += from->errors;
	into->total_ns += from->total_ns;
	into->gc_count += from->gc_count;
	into->gc_ns += from->gc_ns;
	into->waits += from->waits;
	into->wait_ns += from->wait_ns;
	if (from->max_ns > into->max_ns)
		into->max_ns = from->max_ns;
	if (from->wait_max > into->wait_max)
		into->wait_max = from->wait_max;
	for (int i = 0; i < SYSCALL_BUCKETS; i++)
		into->histogram[i] += from->histogram[i];
}

/*
 * Iterates over the calls of processes: totals, or records if these count more, as at the end of
 * a truncated profile. In a split recording only totals count, because they and the records do not
 * change files at the same moment; unless calls have no totals because the kernel's table was full.
 */
struct counted {
	const struct syscalls *syscalls;
	bool records; /* calls with more records than their total; else totals with at least as many
		       */
	bool part;    /* split recording: records only without a total, and all totals */
	size_t cursor;
};

/* The next call and its process; NULL at the end. */
static const struct call *next_counted(struct counted *walk, uint64_t *process)
{
	const struct calls *calls = walk->records ? &walk->syscalls->records
						  : &walk->syscalls->totals;
	const struct calls *others = walk->records ? &walk->syscalls->totals
						   : &walk->syscalls->records;
	const void *key;
	uint64_t *item;

	while (map_next(calls->index, &walk->cursor, &key, &item)) {
		const struct call *call = &calls->items[*item];
		const uint64_t *match = map_get(others->index, key);
		uint64_t other = match ? others->items[*match].count : 0;

		if (match &&
		    (walk->part ? walk->records
				: other > call->count || (other == call->count && walk->records)))
			continue;
		/* In windows, a call may take time and never end. */
		if (!call->count && !call->total_ns)
			continue;
		*process = ((const struct call_key *)key)->process;
		return call;
	}
	return NULL;
}

/* Merges the calls of all processes into `sums`, under process 0. */
static int merge_all(struct calls *sums, struct counted walk)
{
	const struct call *call;
	uint64_t process;

	while ((call = next_counted(&walk, &process))) {
		struct call *sum = calls_get(sums, 0, call->number);

		if (!sum)
			return -ENOMEM;
		call_merge(sum, call);
	}
	return 0;
}

/* Adds calls to their processes; the next function adds the estimates for gaps. */
static void add_to_processes(struct tasks *tasks, struct counted walk)
{
	const struct call *call;
	uint64_t id;

	while ((call = next_counted(&walk, &id))) {
		struct process *process = tasks_find_process(tasks, id);

		if (!process)
			continue;
		process->calls += (double)call->count;
		process->call_ns += (double)call->total_ns;
	}
}

static void add_gaps_to_processes(struct tasks *tasks, const struct call_windows *windows)
{
	for (uint64_t id = 1; id < tasks->processes.limit; id++) {
		struct process *process = tasks_find_process(tasks, id);

		if (!process)
			continue;
		process->calls += call_windows_of(windows, process->recording, id, CALL_COUNT);
		process->call_ns += call_windows_of(windows, process->recording, id, CALL_NS);
	}
}

/* The middle of the bucket with this percentile, limited to the maximum. */
static uint64_t percentile(const struct call *call, uint64_t percent)
{
	uint64_t count = 0, seen = 0, rank;

	for (int i = 0; i < SYSCALL_BUCKETS; i++)
		count += call->histogram[i];
	rank = count / 100 * percent + (count % 100 * percent + 99) / 100;
	for (uint32_t i = 0; i < SYSCALL_BUCKETS; i++) {
		uint64_t value = histogram_middle(i);

		seen += call->histogram[i];
		if (!call->histogram[i] || seen < rank)
			continue;
		return value < call->max_ns ? value : call->max_ns;
	}
	return call->max_ns;
}

static double squares(const struct call *call)
{
	double sum = 0;

	for (uint32_t i = 0; i < SYSCALL_BUCKETS; i++) {
		double middle = (double)histogram_middle(i);

		sum += (double)call->histogram[i] * middle * middle;
	}
	return sum;
}

static int by_total(const void *a, const void *b)
{
	const struct model_syscall *x = a, *y = b;

	if (x->total_ns != y->total_ns)
		return x->total_ns < y->total_ns ? 1 : -1;
	if (x->count != y->count)
		return x->count < y->count ? 1 : -1;
	return strcmp(x->name, y->name);
}

/* Saturates: estimates may exceed 64 bits. */
static uint64_t plus(uint64_t seen, double more)
{
	double sum = (double)seen + more;

	return sum < 9e18 ? seen + (uint64_t)(more + 0.5) : INT64_MAX;
}

static const uint64_t *keep_histogram(const struct call *call, struct arena *arena)
{
	uint64_t *copy = arena_alloc(arena, sizeof(call->histogram));

	if (copy)
		memcpy(copy, call->histogram, sizeof(call->histogram));
	return copy;
}

struct model_syscall syscall_row(const struct call *call, const struct model *model)
{
	double count = (double)call->count, time = (double)call->total_ns;

	return (struct model_syscall){
		.name = syscall_describe(model, call->number),
		.number = call->number,
		.count = call->count,
		.errors = call->errors,
		.total_ns = call->total_ns,
		.p50_ns = percentile(call, 50),
		.p99_ns = percentile(call, 99),
		.max_ns = call->max_ns,
		.in_gc_count = call->gc_count,
		.in_gc_ns = call->gc_ns,
		.histogram = keep_histogram(call, model->arena),
		.squares = squares(call),
		.off_cpu_count = call->waits,
		.off_cpu_ns = call->wait_ns,
		.traced_count = call->count,
		.traced_waits = call->waits,
		.traced_wait_ns = call->wait_ns,
		.wait_max = call->wait_max,
		.calls = {count, count, count},
		.time = {time, time, time},
	};
}

static void scale(uint64_t *figure, double times)
{
	*figure = plus(*figure, (double)*figure * times);
}

/* Adds untraced calls. The other figures are scaled by the same factors as counts and times. */
static void estimate_row(const struct call_windows *windows, struct model_syscall *row)
{
	double count = (double)row->count, time = (double)row->total_ns, more, longer;

	row->estimated =
		call_windows_estimate(windows, row->number, CALL_COUNT, count, &row->calls);
	if (!row->estimated)
		return;
	call_windows_estimate(windows, row->number, CALL_NS, time, &row->time);
	more = count > 0 ? row->calls.value / count - 1 : 0;
	longer = time > 0 ? row->time.value / time - 1 : 0;
	scale(&row->count, more);
	scale(&row->errors, more);
	scale(&row->in_gc_count, more);
	scale(&row->off_cpu_count, more);
	scale(&row->total_ns, longer);
	scale(&row->in_gc_ns, longer);
	scale(&row->off_cpu_ns, longer);
}

static int add_rows(const struct calls *sums, const struct call_windows *windows,
		    struct model *model)
{
	model->syscalls = calloc(sums->count, sizeof(*model->syscalls));
	if (!model->syscalls)
		return -ENOMEM;
	for (size_t i = 1; i < sums->count; i++) {
		struct model_syscall *row = &model->syscalls[model->n_syscalls++];

		*row = syscall_row(&sums->items[i], model);
		if (!row->name)
			return -ENOMEM;
		estimate_row(windows, row);
		model->syscall_count += row->count;
		model->syscall_ns += row->total_ns;
		model->syscall_gc_ns += row->in_gc_ns;
	}
	return 0;
}

/* Estimate for the `sum` of all rows. Only its untraced part has an interval. */
static struct estimate estimate_sum(const struct call_windows *windows, enum call_figure figure,
				    double sum)
{
	struct estimate out = {sum, sum, sum}, more;

	if (call_windows_estimate(windows, CALL_ALL, figure, 0, &more))
		call_windows_estimate(windows, CALL_ALL, figure, fmax(sum - more.value, 0), &out);
	return out;
}

static void add_tracing(const struct call_windows *windows, struct model *model)
{
	const struct window_times times = call_windows_times(windows);
	struct model_tracing *out = &model->tracing;

	if (times.gaps_ns <= 0)
		return;
	out->gaps = true;
	out->windows = times.windows;
	out->traced_ns = plus(0, times.traced_ns);
	out->untraced_ns = plus(0, times.gaps_ns);
	out->estimated = times.estimated;
	out->count = estimate_sum(windows, CALL_COUNT, (double)model->syscall_count);
	out->time = estimate_sum(windows, CALL_NS, (double)model->syscall_ns);
}

static int add_slow(const struct syscalls *syscalls, const struct world *world)
{
	struct model *model = world->model;

	model->slow_calls = arena_alloc(model->arena, SLOW_CALLS * sizeof(*model->slow_calls));
	if (!model->slow_calls)
		return -ENOMEM;
	for (size_t i = 0; i < syscalls->n_slow; i++) {
		const struct record_syscall *record = &syscalls->slow[i];
		const struct thread *thread = tasks_find_thread(&world->tasks, record->thread);
		const char *text = syscall_to_text(world, syscall_of_record(world, record));

		if (!text)
			return -ENOMEM;
		model->slow_calls[model->n_slow_calls++] = (struct model_slow_call){
			.tid = thread->tid,
			.thread = thread->name,
			.start_ns =
				record->time -
				(record->duration < record->time ? record->duration : record->time),
			.duration_ns = record->duration,
			.gc_ns = record->gc_ns,
			.text = text,
		};
	}
	return 0;
}

/* Makes rows for the whole profile. */
static int add_all(const struct syscalls *syscalls, struct world *world)
{
	const bool part = world->model->run.part && world->model->state == PROFILE_COMPLETE;
	const bool lacking = world->streams.losses[LOSS_SYSCALL_TOTALS].count;
	const struct counted walks[] = {{syscalls, false, part, 0}, {syscalls, true, part, 0}};
	const int n = part && !lacking ? 1 : 2;
	struct calls sums = {0};
	int error = calls_init(&sums);

	for (int i = 0; i < n && !error; i++)
		error = merge_all(&sums, walks[i]);
	for (int i = 0; i < n && !error; i++)
		add_to_processes(&world->tasks, walks[i]);
	add_gaps_to_processes(&world->tasks, &syscalls->windows);
	if (!error)
		error = add_rows(&sums, &syscalls->windows, world->model);
	calls_free(&sums);
	return error;
}

static void add_cpu(const struct map *cpu, struct model *model)
{
	for (size_t i = 0; i < model->n_syscalls; i++) {
		const uint64_t *ns = map_get(cpu, &model->syscalls[i].number);

		model->syscalls[i].cpu_ns = ns ? *ns : 0;
	}
}

int syscalls_sum(struct syscalls *syscalls, struct world *world)
{
	int err = 0;

	for (const struct window_set *set = syscalls->windows.sets; set; set = set->next)
		note_gap(syscalls, world->model, set->end, set->recording_end);
	call_windows_finish(&syscalls->windows);
	if (!syscalls->selection)
		err = add_all(syscalls, world);
	if (!err)
		add_tracing(&syscalls->windows, world->model);
	return err;
}

int syscalls_finish(const struct syscalls *syscalls, struct world *world)
{
	struct model *model = world->model;

	add_cpu(syscalls->cpu, model);
	qsort(model->syscalls, model->n_syscalls, sizeof(*model->syscalls), by_total);
	return add_slow(syscalls, world);
}
