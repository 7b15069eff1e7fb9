/* SPDX-License-Identifier: BSD-2-Clause */
/* pauses.c: the longest pauses: the objects that they processed, and the events during them. */
/*
 * The longest pauses are only known at the end, and single events are not stored. So each
 * collection in progress notes the events during it, and when it ends it is kept if it is among
 * the longest so far. An event that is read later but began earlier, such as a call that the
 * pause delayed, is matched against these few pauses.
 *
 * A minor collection copied samples of its cycle. For a major one, a walk over all live objects
 * is not needed: when a sample ceases to be old, its level tells in which pauses it was walked.
 */
#include "pauses.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../../../bpf/events.h"
#include "../world/arena.h"
#include "../world/syscall_text.h"
#include "../world/world.h"
#include "causes.h"
#include "sample.h"

static void drop(struct long_pause *pause)
{
	causes_free(pause->causes);
	free(pause->events);
}

void pauses_free(struct pauses *pauses)
{
	for (size_t i = 0; i < pauses->open.count; i++)
		free(pauses->open.items[i].pause.events);
	for (size_t i = 0; i < pauses->n_longest; i++)
		drop(&pauses->longest[i]);
}

/* Decides which samples the collection processed: those of its cycle, or the old ones. */
static int find_causes(const struct world *world, struct long_pause *pause)
{
	const struct charging *charging =
		&tasks_find_process(&world->tasks, pause->process)->charging;

	pause->causes = causes_create();
	if (!pause->causes)
		return -ENOMEM;
	pause->walked = (pause->kind == GCPROF_GC_STEP || pause->kind == GCPROF_GC_FULL) &&
			charging->live_count && charging->live_bytes > 0;
	pause->level = charging->level;
	return 0;
}

/* Inserts a pause among the longest ones. If there is no room, the shortest is dropped. */
static void insert(struct pauses *pauses, const struct long_pause *pause)
{
	size_t at = pauses->n_longest;

	if (at < LONG_PAUSES)
		pauses->n_longest++;
	else
		drop(&pauses->longest[--at]);
	for (; at && pauses->longest[at - 1].pause_ns < pause->pause_ns; at--)
		pauses->longest[at] = pauses->longest[at - 1];
	pauses->longest[at] = *pause;
	if (pause->end > pauses->latest_end)
		pauses->latest_end = pause->end;
}

int pauses_end(struct pauses *pauses, const struct world *world, const struct record_gc_end *record,
	       const struct long_pause *ended, struct causes **copied)
{
	struct long_pause pause = *ended;

	*copied = NULL;
	pause.end = record->time;
	pause.figures = *record;
	if (!pause.pause_ns || (pauses->n_longest == LONG_PAUSES &&
				pauses->longest[LONG_PAUSES - 1].pause_ns >= pause.pause_ns)) {
		drop(&pause);
		return 0;
	}
	if (find_causes(world, &pause) < 0) {
		drop(&pause);
		return -ENOMEM;
	}
	insert(pauses, &pause);
	if (!pause.walked && pause.kind != GCPROF_GC_STOP)
		*copied = pause.causes;
	return 0;
}

/*
 * The sums of a thread in the pause. The last ones are of all that came when there was no room.
 * NULL: no memory, which is noted.
 */
static struct pause_thread *thread_in(struct pauses *pauses, struct long_pause *pause,
				      uint64_t thread)
{
	struct pause_events *events = pause->events ? pause->events
						    : calloc(1, sizeof(*pause->events));
	struct pause_thread *row;

	pause->events = events;
	pauses->failed |= !events;
	if (!events || thread == pause->thread)
		return events ? &events->own : NULL;
	row = events->others;
	for (; row < &events->others[events->n_others]; row++)
		if (row->thread == thread)
			return row;
	if (events->n_others == PAUSE_THREADS)
		return row - 1;
	if (++events->n_others < PAUSE_THREADS)
		row->thread = thread;
	return row;
}

/* How much of a pause lies in this span. */
static uint64_t overlap(const struct long_pause *pause, uint64_t begin, uint64_t end)
{
	uint64_t from = begin > pause->begin ? begin : pause->begin;
	uint64_t to = end < pause->end ? end : pause->end;

	return to > from ? to - from : 0;
}

/*
 * Threads wait in futex calls for the end of a pause, or for work; single ones are of no
 * interest.
 */
static bool is_futex(const struct world *world, const struct pause_event *event)
{
	const char *name = syscall_name(world->model->run.machine, event->number);

	return name && (strcmp(name, "futex") == 0 || event->number == SYSCALL_LOCK);
}

static void note_call(struct pause_thread *thread, const struct pause_event *part, bool futex)
{
	thread->calls++;
	thread->call_ns += part->overlap_ns;
	thread->futex_calls += futex;
	thread->futex_ns += futex ? part->overlap_ns : 0;
}

static void note_wait(struct pause_thread *thread, const struct long_pause *pause,
		      const struct pause_event *part)
{
	uint64_t end = part->begin + part->duration;
	uint64_t ready = part->reason == WAIT_PREEMPTED ? part->duration : part->queued;

	thread->wait_ns += part->overlap_ns;
	thread->ready_ns += overlap(pause, end - ready, end);
}

/* Of other threads, futex calls are left out, and a wait in a call is shown as that call. */
static void note_longest(struct pause_thread *thread, const struct pause_event *part, bool shown)
{
	struct pause_event *longest = part->is_call ? &thread->call : &thread->wait;

	if (shown && part->overlap_ns > longest->overlap_ns)
		*longest = *part;
}

static void add_to_pause(struct pauses *pauses, const struct world *world, struct long_pause *pause,
			 const struct pause_event *event)
{
	bool own = event->thread == pause->thread, futex = event->is_call && is_futex(world, event);
	struct pause_event part = *event;
	struct pause_thread *thread;

	part.overlap_ns = overlap(pause, event->begin, event->begin + event->duration);
	thread = part.overlap_ns ? thread_in(pauses, pause, event->thread) : NULL;
	if (!thread)
		return;
	if (event->is_call)
		note_call(thread, &part, futex);
	else
		note_wait(thread, pause, &part);
	note_longest(thread, &part,
		     own || (!futex && (event->is_call || event->reason != WAIT_CALL)));
}

static void add_to_pauses(struct pauses *pauses, const struct world *world,
			  const struct pause_event *event)
{
	struct open_gcs *open = &pauses->open;
	uint64_t process = tasks_find_thread(&world->tasks, event->thread)->process;

	for (size_t i = 0; i < open->count; i++)
		if (open->items[i].pause.process == process)
			add_to_pause(pauses, world, &open->items[i].pause, event);
	for (size_t i = 0; i < pauses->n_longest && event->begin < pauses->latest_end; i++)
		if (pauses->longest[i].process == process)
			add_to_pause(pauses, world, &pauses->longest[i], event);
}

/* When an event that ended at `time` began. */
static uint64_t begin_of(uint64_t time, uint64_t duration)
{
	return time > duration ? time - duration : 0;
}

void pauses_call(struct pauses *pauses, const struct world *world,
		 const struct record_syscall *record)
{
	uint64_t begin = begin_of(record->time, record->duration);
	struct pause_event event;

	if (!pauses->open.count && begin >= pauses->latest_end)
		return;
	event = (struct pause_event){
		.thread = record->thread,
		.begin = begin,
		.duration = record->time - begin,
		.is_call = true,
		.number = record->number & INT32_MAX,
		.args = {record->arg0, record->arg1, record->arg2},
		.result = record->result,
		.unfinished = record->flags & SYSCALL_UNFINISHED,
		.path = record->path ? tree_text(&world->tree, record->path) : NULL,
	};
	if (record->flags & SYSCALL_COMPAT)
		event.number |= SYSCALL_NUMBER_COMPAT;
	add_to_pauses(pauses, world, &event);
}

void pauses_wait(struct pauses *pauses, const struct world *world, const struct record_wait *record)
{
	uint64_t begin = begin_of(record->time, record->duration);
	const struct pause_event event = {
		.thread = record->thread,
		.begin = begin,
		.duration = record->time - begin,
		.reason = record->reason,
		.queued = record->queued < record->duration ? record->queued : record->duration,
	};

	if (pauses->open.count || begin < pauses->latest_end)
		add_to_pauses(pauses, world, &event);
}

static void add_traced(const struct world *world, struct long_pause *pause,
		       const struct record_call_window *record)
{
	if (tasks_find_process(&world->tasks, pause->process)->recording == record->recording)
		pause->traced_ns += overlap(pause, record->begin, record->end);
}

void pauses_window(struct pauses *pauses, const struct world *world,
		   const struct record_call_window *record)
{
	struct open_gcs *open = &pauses->open;

	for (size_t i = 0; i < open->count; i++)
		add_traced(world, &open->items[i].pause, record);
	for (size_t i = 0; i < pauses->n_longest && record->begin < pauses->latest_end; i++)
		add_traced(world, &pauses->longest[i], record);
}

static void note_tick(struct pauses *pauses, struct long_pause *pause, uint64_t process,
		      const struct record_cpu *record)
{
	struct pause_thread *thread = NULL;

	if (pause->process == process && record->time >= pause->begin && record->time < pause->end)
		thread = thread_in(pauses, pause, record->thread);
	if (thread)
		thread->cpu_ns += record->ns;
}

void pauses_cpu(struct pauses *pauses, const struct world *world, const struct record_cpu *record)
{
	struct open_gcs *open = &pauses->open;
	size_t late = record->time < pauses->latest_end ? pauses->n_longest : 0;
	uint64_t process;

	if (!open->count && !late)
		return;
	process = tasks_find_thread(&world->tasks, record->thread)->process;
	for (size_t i = 0; i < open->count; i++)
		note_tick(pauses, &open->items[i].pause, process, record);
	for (size_t i = 0; i < late; i++)
		note_tick(pauses, &pauses->longest[i], process, record);
}

void pauses_old(struct pauses *pauses, const struct sample *sample)
{
	if (sample->type == TYPE_UNSELECTED)
		return;
	for (size_t i = 0; i < pauses->n_longest; i++) {
		struct long_pause *pause = &pauses->longest[i];

		if (pause->walked && pause->process == sample->process &&
		    sample->level <= pause->level &&
		    causes_add(pause->causes, sample->cost, sample->type, sample->bytes,
			       sample->bytes) < 0)
			pauses->failed = true;
	}
}

static int fill_call(struct world *world, const struct pause_event *event, struct pause_call *row)
{
	const struct thread *thread = tasks_find_thread(&world->tasks, event->thread);
	const struct syscall_call call = {
		.number = event->number,
		.path = event->path,
		.args = {event->args[0], event->args[1], event->args[2]},
		.result = event->result,
		.unfinished = event->unfinished,
	};

	*row = (struct pause_call){
		.tid = thread->tid,
		.thread = thread->name,
		.start = event->begin,
		.duration_ns = event->duration,
		.overlap_ns = event->overlap_ns,
		.is_call = event->is_call,
		.text = wait_reason_name((unsigned)event->reason),
	};
	if (event->is_call)
		row->text = syscall_to_text(world, call);
	return row->text ? 0 : -ENOMEM;
}

/* Does the thread mostly collect, as by its timer samples all along? */
static bool is_worker(const struct world *world, const struct pause_thread *row)
{
	const struct thread *thread = row->thread ? tasks_find_thread(&world->tasks, row->thread)
						  : NULL;

	return thread && thread->time[TIME_COLLECTOR] > thread->cpu_ns / 2;
}

static void add_sums(struct model_pause *row, const struct pause_thread *thread)
{
	row->sums.calls += thread->calls;
	row->sums.call_ns += thread->call_ns;
	row->sums.futex_calls += thread->futex_calls;
	row->sums.futex_ns += thread->futex_ns;
	row->sums.wait_ns += thread->wait_ns;
	row->cpu_ns += (double)thread->cpu_ns;
}

/* Inserts it, if it is among the longest. */
static int add_longest(struct world *world, struct model_pause *row,
		       const struct pause_event *event)
{
	size_t at = row->n_longest;

	if (!event->overlap_ns ||
	    (at == PAUSE_CALLS && row->longest[at - 1].overlap_ns >= event->overlap_ns))
		return 0;
	if (at < PAUSE_CALLS)
		row->n_longest++;
	else
		at--;
	for (; at && row->longest[at - 1].overlap_ns < event->overlap_ns; at--)
		row->longest[at] = row->longest[at - 1];
	return fill_call(world, event, &row->longest[at]);
}

static int fill_own(struct world *world, const struct pause_thread *own, struct model_pause *row)
{
	int error = 0;

	row->sums.own_call_ns = own->call_ns;
	row->sums.own_wait_ns = own->wait_ns;
	row->sums.ready_ns = own->ready_ns;
	row->own_cpu_ns = (double)own->cpu_ns;
	if (own->call.overlap_ns)
		error = fill_call(world, &own->call, &row->own_call);
	if (!error && own->wait.overlap_ns)
		error = fill_call(world, &own->wait, &row->own_wait);
	return error;
}

static int fill_others(struct world *world, const struct pause_events *events,
		       struct model_pause *row)
{
	int error = 0;

	for (size_t i = 0; i < events->n_others && !error; i++) {
		const struct pause_thread *thread = &events->others[i];

		if (is_worker(world, thread)) {
			row->workers++;
			row->sums.ready_ns += thread->ready_ns;
			row->own_cpu_ns += (double)thread->cpu_ns;
			continue;
		}
		add_sums(row, thread);
		error = add_longest(world, row, &thread->call);
		if (!error)
			error = add_longest(world, row, &thread->wait);
	}
	return error;
}

static void fill_figures(const struct world *world, const struct long_pause *pause,
			 struct model_pause *row)
{
	const struct record_gc_end *end = &pause->figures;
	uint64_t frequency = world->model->run.frequency;
	double tick = frequency ? 1e9 / (double)frequency : 0;
	const struct thread *thread = tasks_find_thread(&world->tasks, pause->thread);

	*row = (struct model_pause){
		.start = pause->begin,
		.pause_ns = pause->pause_ns,
		.kind = (unsigned)pause->kind,
		.reason = (unsigned)(pause->reason < GC_REASONS ? pause->reason : 0),
		.name = gc_names_text(&world->gc_names, pause->process, pause->name),
		.named_reason = gc_names_text(&world->gc_names, pause->process, pause->reason),
		.heap_before = end->heap_before,
		.heap_after = end->heap_after,
		.heap_size = end->heap_size,
		.cycle = pause->cycle,
		.tid = thread->tid,
		.pid = tasks_find_process(&world->tasks, pause->process)->pid,
		.thread = thread->name,
		.has_stats = end->has_stats,
		.promoted_bytes = end->promoted_bytes,
		.promoted_objects = end->promoted_objects,
		.nursery_bytes = end->nursery_used,
		.live_bytes = end->live_bytes,
		.stop_ns = end->stop_ns,
		.walked = pause->walked,
		.fates = world->model->alloc.fates > 0,
		.sums.traced_ns = pause->traced_ns,
		.ticks = frequency ? (double)pause->pause_ns / tick : 0,
	};
}

int pauses_finish(const struct pauses *pauses, struct world *world)
{
	struct model *model = world->model;
	int error = pauses->failed ? -ENOMEM : 0;

	model->pauses = arena_alloc(model->arena, LONG_PAUSES * sizeof(*model->pauses));
	if (!model->pauses)
		return -ENOMEM;
	for (size_t i = 0; i < pauses->n_longest && !error; i++) {
		const struct pause_events *events = pauses->longest[i].events;
		struct model_pause *row = &model->pauses[model->n_pauses++];

		fill_figures(world, &pauses->longest[i], row);
		error = causes_sites(pauses->longest[i].causes, world, row);
		if (!error && events)
			error = fill_own(world, &events->own, row);
		if (!error && events)
			error = fill_others(world, events, row);
	}
	return error;
}
