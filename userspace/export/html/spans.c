/* SPDX-License-Identifier: BSD-2-Clause */
/* spans.c: rows of the page's tables by window of time, so that these follow a span. */
/*
 * A call or wait counts where it ends, and its time in every window that it covers. The calls of
 * one thread do not overlap, so this costs at most one value per thread and window more.
 */
#include "html.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../../../bpf/events.h"
#include "../../model/world/call_part.h"
#include "../../model/world/syscall_text.h"
#include "../../model/world/world.h"
#include "../../report/report.h"
#include "../../util/map.h"

enum {
	SUMS_MAX = 1 << 20,  /* while the profile is read; 24 MB */
	SUMS_SHOWN = 150000, /* about 2.5 MB of the page */
	ROWS_SHOWN = 200,    /* of each table, like the report's rows */
	PAUSES_SHOWN = 2000, /* about 300 KB */
	CALLS_SHOWN = 500,   /* about 100 KB */
};

enum table { TYPES, CALLS, WAITS, LOCKS, THREADS, TABLES };

static const char *const tables[TABLES] = {"types", "calls", "waits", "locks", "threads"};

/* Each table's first column ranks its rows. */
#define COLUMNS(COLUMN)              \
	COLUMN(TYPES, bytes)         \
	COLUMN(TYPES, samples)       \
	COLUMN(TYPES, survived_0)    \
	COLUMN(TYPES, survived_1)    \
	COLUMN(TYPES, survived_2)    \
	COLUMN(TYPES, survived_3)    \
	COLUMN(TYPES, survived_4)    \
	COLUMN(TYPES, survived_5)    \
	COLUMN(TYPES, survived_6)    \
	COLUMN(TYPES, survived_7)    \
	COLUMN(CALLS, total_ns)      \
	COLUMN(CALLS, count)         \
	COLUMN(CALLS, max_ns)        \
	COLUMN(CALLS, errors)        \
	COLUMN(CALLS, in_gc_ns)      \
	COLUMN(WAITS, total_ns)      \
	COLUMN(WAITS, count)         \
	COLUMN(WAITS, max_ns)        \
	COLUMN(WAITS, queued_ns)     \
	COLUMN(LOCKS, total_ns)      \
	COLUMN(LOCKS, count)         \
	COLUMN(LOCKS, max_ns)        \
	COLUMN(THREADS, cpu_ns)      \
	COLUMN(THREADS, off_cpu_ns)  \
	COLUMN(THREADS, alloc_bytes) \
	COLUMN(THREADS, samples)

enum column {
#define COLUMN(table, name) table##_##name,
	COLUMNS(COLUMN)
#undef COLUMN
		N_COLUMNS
};

static const char *const columns[N_COLUMNS] = {
#define COLUMN(table, name) #name,
	COLUMNS(COLUMN)
#undef COLUMN
};

_Static_assert(N_COLUMNS <= 32, "bits of call_moments.largest");
_Static_assert(TYPES_survived_7 - TYPES_survived_0 + 1 == SURVIVOR_CLASSES, "one for each class");

struct span_row {
	uint64_t table, key, reason; /* reason: of waits */
	double rank;
	uint32_t number; /* among the rows in the page */
	bool shown;
};

struct span_event {
	uint64_t ns, begin;
	uint64_t process, thread, kind, name, reason, promoted; /* of a pause */
	bool has_stats;
	struct record_syscall call;
};

int html_spans_init(struct html_spans *spans)
{
	spans->sums.most = SUMS_MAX;
	spans->sums.largest = 1u << CALLS_max_ns | 1u << WAITS_max_ns | 1u << LOCKS_max_ns;
	spans->index = map_create(3 * sizeof(uint64_t));
	return spans->index ? 0 : -ENOMEM;
}

void html_spans_free(struct html_spans *spans)
{
	call_moments_free(&spans->sums);
	map_free(spans->index);
	free(spans->rows);
	free(spans->pauses.items);
	free(spans->calls.items);
}

/* --- events ------------------------------------------------------------------------ */

/* Finds or makes a row. 0 or -ENOMEM. */
static int find_row(struct html_spans *spans, enum table table, uint64_t key, uint64_t reason,
		    uint32_t *out)
{
	const uint64_t words[] = {table, key, reason};
	uint64_t *place = map_put(spans->index, words, NULL);

	if (!place || spans->n_rows >= UINT32_MAX ||
	    array_reserve(&spans->rows, &spans->rows_capacity, spans->n_rows,
			  sizeof(*spans->rows)) < 0)
		return -ENOMEM;
	if (!*place) {
		spans->rows[spans->n_rows++] =
			(struct span_row){.table = table, .key = key, .reason = reason};
		*place = spans->n_rows;
	}
	*out = (uint32_t)*place - 1;
	return 0;
}

/* Adds an event to a row's column. */
static int add(struct html_spans *spans, const struct world *world, uint64_t time, uint32_t row,
	       enum column column, double value)
{
	return call_moments_add(&spans->sums, world, time, row, column, value);
}

/* Adds a time that ends at `end` to each window, in proportion; `value` stands for `ns`. */
static int spread(struct html_spans *spans, const struct world *world, uint64_t end, uint64_t ns,
		  uint32_t row, enum column column, double value)
{
	uint64_t begin = end - (ns < end ? ns : end), start = world->timeline.start;
	int err = 0;

	while (!err && begin < end) {
		uint64_t step = spans->sums.step_ns ? spans->sums.step_ns : world->timeline.step_ns;
		uint64_t next = begin < start ? start
					      : begin + step - (begin - start) % (step ? step : 1);

		next = next < end && next > begin ? next : end;
		err = add(spans, world, begin, row, column,
			  value * (double)(next - begin) / (double)ns);
		begin = next;
	}
	return err;
}

static int by_length(const void *a, const void *b)
{
	const struct span_event *x = a, *y = b;

	if (x->ns != y->ns)
		return x->ns < y->ns ? 1 : -1;
	return x->begin < y->begin ? -1 : x->begin > y->begin;
}

static void keep_longest(struct span_events *events, size_t most)
{
	if (events->count)
		qsort(events->items, events->count, sizeof(*events->items), by_length);
	if (events->count <= most)
		return;
	events->count = most;
	events->floor = events->items[most - 1].ns;
}

static int note(struct span_events *events, size_t most, const struct span_event *event)
{
	events->all++;
	if (event->ns <= events->floor)
		return 0;
	if (events->count >= 2 * most)
		keep_longest(events, most);
	if (array_reserve(&events->items, &events->capacity, events->count, sizeof(*event)) < 0)
		return -ENOMEM;
	events->items[events->count++] = *event;
	return 0;
}

static int add_alloc(struct html_spans *spans, const struct world *world, const struct event *event)
{
	const struct record_alloc *alloc = &event->record->alloc;
	double bytes = (double)alloc->size / sample_probability(alloc->size, alloc->period);
	uint32_t type, thread;

	if (find_row(spans, TYPES, event->type, 0, &type) < 0 ||
	    find_row(spans, THREADS, alloc->thread, 0, &thread) < 0 ||
	    add(spans, world, alloc->time, type, TYPES_bytes, bytes) < 0 ||
	    add(spans, world, alloc->time, type, TYPES_samples, 1) < 0 ||
	    add(spans, world, alloc->time, thread, THREADS_samples, 1) < 0)
		return -ENOMEM;
	return add(spans, world, alloc->time, thread, THREADS_alloc_bytes, bytes);
}

static int add_cpu(struct html_spans *spans, const struct world *world, const struct event *event)
{
	const struct record_cpu *cpu = &event->record->cpu;
	uint32_t row;

	if (find_row(spans, THREADS, cpu->thread, 0, &row) < 0 ||
	    add(spans, world, cpu->time, row, THREADS_samples, 1) < 0)
		return -ENOMEM;
	return add(spans, world, cpu->time, row, THREADS_cpu_ns, (double)cpu->ns);
}

static int add_call(struct html_spans *spans, const struct world *world, const struct event *event)
{
	const struct record_syscall *call = &event->record->syscall;
	double stands = (double)call_stands(call), errors = 0;
	uint64_t number = call->number & INT32_MAX;
	uint32_t row;

	if (call->flags & SYSCALL_COMPAT)
		number |= SYSCALL_NUMBER_COMPAT;
	if (!(call->flags & SYSCALL_UNFINISHED) && call->result < 0 && call->result >= -4095)
		errors = stands;
	if (find_row(spans, CALLS, number, 0, &row) < 0 ||
	    add(spans, world, call->time, row, CALLS_count, stands) < 0 ||
	    add(spans, world, call->time, row, CALLS_errors, errors) < 0 ||
	    add(spans, world, call->time, row, CALLS_max_ns, (double)call->duration) < 0 ||
	    add(spans, world, call->time, row, CALLS_in_gc_ns, stands * (double)call->gc_ns) < 0 ||
	    spread(spans, world, call->time, call->duration, row, CALLS_total_ns,
		   (double)call_stands_ns(call)) < 0)
		return -ENOMEM;
	return note(&spans->calls, CALLS_SHOWN,
		    &(struct span_event){.ns = call->duration,
					 .begin = call->time - (call->duration < call->time
									? call->duration
									: call->time),
					 .thread = call->thread,
					 .call = *call});
}

/* Shorter waits before it, without a record of their own, count where it ends. */
static int add_wait(struct html_spans *spans, const struct world *world, const struct event *event)
{
	const struct record_wait *wait = &event->record->wait;
	uint64_t number = UINT64_MAX, time = wait->time;
	bool preempted = wait->reason == WAIT_PREEMPTED; /* waits for a CPU all the time */
	uint64_t queued = preempted ? wait->duration : wait->queued;
	uint32_t row, thread, lock;

	if (wait->reason == WAIT_CALL && wait->flags & WAIT_IN_CALL)
		number = (wait->number & INT32_MAX) |
			 (wait->flags & WAIT_COMPAT ? SYSCALL_NUMBER_COMPAT : 0);
	if (find_row(spans, WAITS, number, wait->reason, &row) < 0 ||
	    find_row(spans, THREADS, wait->thread, 0, &thread) < 0 ||
	    add(spans, world, time, row, WAITS_count, (double)(1 + wait->held)) < 0 ||
	    add(spans, world, time, row, WAITS_max_ns, (double)wait->duration) < 0 ||
	    add(spans, world, time, row, WAITS_queued_ns, preempted ? (double)wait->held_ns : 0) <
		    0 ||
	    spread(spans, world, time, queued, row, WAITS_queued_ns, (double)queued) < 0 ||
	    add(spans, world, time, row, WAITS_total_ns, (double)wait->held_ns) < 0 ||
	    add(spans, world, time, thread, THREADS_off_cpu_ns, (double)wait->held_ns) < 0 ||
	    spread(spans, world, time, wait->duration, row, WAITS_total_ns,
		   (double)wait->duration) < 0 ||
	    spread(spans, world, time, wait->duration, thread, THREADS_off_cpu_ns,
		   (double)wait->duration) < 0)
		return -ENOMEM;
	if (!wait->waker || !tasks_find_thread(&world->tasks, wait->waker))
		return 0;
	if (find_row(spans, LOCKS, wait->waker, 0, &lock) < 0 ||
	    add(spans, world, time, lock, LOCKS_count, 1) < 0 ||
	    add(spans, world, time, lock, LOCKS_max_ns, (double)wait->duration) < 0)
		return -ENOMEM;
	return spread(spans, world, time, wait->duration, lock, LOCKS_total_ns,
		      (double)wait->duration);
}

static int add_pause(struct html_spans *spans, const struct world *world, const struct event *event)
{
	const struct record_gc_end *end = &event->record->gc_end;
	const struct closed_gc *closed = &event->closed;
	const struct thread *thread = tasks_find_thread(&world->tasks, end->thread);

	if (!closed->paired || !closed->pause_ns || !thread)
		return 0;
	return note(&spans->pauses, PAUSES_SHOWN,
		    &(struct span_event){.ns = closed->pause_ns,
					 .begin = closed->begin,
					 .process = thread->process,
					 .thread = end->thread,
					 .kind = end->kind,
					 .name = closed->name,
					 .reason = closed->reason,
					 .promoted = end->promoted_bytes,
					 .has_stats = end->has_stats});
}

int html_spans_record(struct html_spans *spans, const struct world *world,
		      const struct event *event)
{
	if (!event->selected)
		return 0;
	switch (event->record->kind) {
	case RECORD_alloc:
		return add_alloc(spans, world, event);
	case RECORD_cpu:
		return add_cpu(spans, world, event);
	case RECORD_syscall:
		return add_call(spans, world, event);
	case RECORD_wait:
		return add_wait(spans, world, event);
	case RECORD_gc_end:
		return add_pause(spans, world, event);
	default:
		return 0;
	}
}

int html_spans_survived(struct html_spans *spans, const struct world *world,
			const struct survived_object *object)
{
	uint32_t row;

	if (find_row(spans, TYPES, object->type, 0, &row) < 0)
		return -ENOMEM;
	return add(spans, world, object->time, row, TYPES_survived_0 + object->class,
		   object->bytes);
}

/* --- output ------------------------------------------------------------------------- */

static int by_rank(const void *a, const void *b)
{
	const struct span_row *x = *(struct span_row *const *)a, *y = *(struct span_row *const *)b;

	if (x->table != y->table)
		return x->table < y->table ? -1 : 1;
	if (x->rank != y->rank)
		return x->rank < y->rank ? 1 : -1;
	return x < y ? -1 : x > y;
}

/* Numbers the first rows of each table. *order is the caller's to free. 0 or -ENOMEM. */
static int choose_rows(struct html_spans *spans, struct span_row ***order)
{
	size_t used[TABLES] = {0};
	uint32_t number = 0;

	*order = calloc(spans->n_rows + 1, sizeof(**order));
	if (!*order)
		return -ENOMEM;
	for (size_t i = 0; i < spans->sums.count; i++) {
		const struct call_moment *sum = &spans->sums.items[i];
		struct span_row *row = &spans->rows[sum->node];
		static const uint32_t ranking = 1u << TYPES_bytes | 1u << CALLS_total_ns |
						1u << WAITS_total_ns | 1u << LOCKS_total_ns |
						1u << THREADS_cpu_ns;

		row->rank += ranking >> sum->measure & 1 ? sum->value : 0;
	}
	for (size_t i = 0; i < spans->n_rows; i++)
		(*order)[i] = &spans->rows[i];
	qsort(*order, spans->n_rows, sizeof(**order), by_rank);
	for (size_t i = 0; i < spans->n_rows; i++) {
		struct span_row *row = (*order)[i];

		row->shown = used[row->table]++ < ROWS_SHOWN;
		row->number = row->shown ? number++ : 0;
	}
	return 0;
}

/* Leaves out the sums of other rows, and numbers those that stay. */
static void drop_sums(struct html_spans *spans)
{
	struct call_moments *sums = &spans->sums;
	size_t kept = 0;

	for (size_t i = 0; i < sums->count; i++) {
		struct call_moment *sum = &sums->items[i];

		if (!spans->rows[sum->node].shown)
			continue;
		sums->items[kept] = *sum;
		sums->items[kept++].node = spans->rows[sum->node].number;
	}
	sums->count = kept;
	call_moments_limit(sums, SUMS_SHOWN);
}

/* Where a thread waited: the name of its system call or of the reason, as in the report. */
static const char *wait_name(const struct world *world, const struct span_row *row)
{
	const struct model *model = world->model;

	if (row->key != UINT64_MAX)
		return syscall_describe(model, row->key);
	for (size_t i = 0; i < model->n_waits; i++)
		if (row->reason != WAIT_CALL &&
		    strcmp(model->waits[i].reason, wait_reason_name((unsigned)row->reason)) == 0)
			return model->waits[i].name;
	return "(other system calls)";
}

static void put_number(json_t *object, const char *key, uint64_t number)
{
	json_object_set_new(object, key, json_integer((json_int_t)number));
}

static void put_text(json_t *object, const char *key, const char *text)
{
	json_object_set_new(object, key, text ? json_string(text) : json_null());
}

static void put_thread(json_t *object, const struct world *world, uint64_t id)
{
	const struct thread *thread = tasks_find_thread(&world->tasks, id);
	const struct process *process = tasks_find_process(&world->tasks, thread->process);

	put_number(object, "tid", thread->tid);
	put_number(object, "pid", process ? process->pid : 0);
	put_text(object, "thread", thread->name);
}

static json_t *row_json(const struct world *world, const struct span_row *row)
{
	json_t *object = json_object();

	put_text(object, "table", tables[row->table]);
	switch (row->table) {
	case TYPES:
		put_text(object, "name", world->types.items[row->key].name);
		break;
	case CALLS:
		put_text(object, "name", syscall_describe(world->model, row->key));
		break;
	case WAITS:
		put_text(object, "name", wait_name(world, row));
		put_text(object, "reason", wait_reason_name((unsigned)row->reason));
		break;
	default:
		put_thread(object, world, row->key);
	}
	return object;
}

static json_t *pause_json(const struct world *world, const struct span_event *pause)
{
	const char *name = gc_names_text(&world->gc_names, pause->process, pause->name);
	const char *reason = gc_names_text(&world->gc_names, pause->process, pause->reason);
	json_t *object = json_object();

	put_number(object, "start_ns", pause->begin);
	put_number(object, "pause_ns", pause->ns);
	put_text(object, "kind", json_kind_name((unsigned)pause->kind));
	put_text(object, "name", name);
	put_text(object, "reason", reason ? reason : json_reason_name((unsigned)pause->reason));
	if (pause->has_stats)
		put_number(object, "promoted_bytes", pause->promoted);
	put_thread(object, world, pause->thread);
	return object;
}

static json_t *call_json(const struct world *world, const struct span_event *event)
{
	struct syscall_call call = syscall_of_record(world, &event->call);
	json_t *object = json_object();
	char text[SYSCALL_TEXT];

	call.name = syscall_describe(world->model, call.number);
	syscall_text(&call, text, sizeof(text));
	put_number(object, "start_ns", event->begin);
	put_number(object, "duration_ns", event->ns);
	put_number(object, "gc_ns", event->call.gc_ns);
	put_text(object, "text", text);
	put_thread(object, world, event->thread);
	return object;
}

static int put_events(struct output *output, const char *key, const struct world *world,
		      struct span_events *events, size_t most,
		      json_t *(*make)(const struct world *world, const struct span_event *event))
{
	json_t *array = json_array();

	keep_longest(events, most);
	for (size_t i = 0; i < events->count; i++)
		json_array_append_new(array, make(world, &events->items[i]));
	return html_put_value(output, key, array);
}

static int put_rows(struct html_spans *spans, const struct world *world, struct output *output,
		    struct span_row *const *order)
{
	json_t *rows = json_array();
	int err = 0;

	for (size_t i = 0; i < spans->n_rows && !err; i++)
		if (order[i]->shown)
			err = json_array_append_new(rows, row_json(world, order[i]));
	html_put_moments(output, "row_", &spans->sums, columns);
	return html_put_value(output, "rows", rows) || err ? -ENOMEM : 0;
}

int html_spans_put(struct html_spans *spans, const struct world *world, struct output *output)
{
	struct span_row **order;
	int err;

	call_moments_settle(&spans->sums, world);
	err = choose_rows(spans, &order);
	if (!err) {
		drop_sums(spans);
		err = put_rows(spans, world, output, order);
	}
	free(order);
	if (!err)
		err = put_events(output, "pauses", world, &spans->pauses, PAUSES_SHOWN, pause_json);
	if (!err)
		err = html_put_value(output, "pauses_count",
				     json_integer((json_int_t)spans->pauses.all));
	if (!err)
		err = put_events(output, "slow_calls", world, &spans->calls, CALLS_SHOWN,
				 call_json);
	return err ? err
		   : html_put_value(output, "calls_count",
				    json_integer((json_int_t)spans->calls.all));
}
