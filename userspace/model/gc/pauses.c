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
#include <string.h>

#include "../../../bpf/events.h"
#include "../world/arena.h"
#include "../world/syscall_text.h"
#include "../world/world.h"
#include "causes.h"
#include "sample.h"

void pauses_free(struct pauses *pauses)
{
	for (size_t i = 0; i < pauses->n_longest; i++)
		causes_free(pauses->longest[i].causes);
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
		causes_free(pauses->longest[--at].causes);
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
				pauses->longest[LONG_PAUSES - 1].pause_ns >= pause.pause_ns))
		return 0;
	if (find_causes(world, &pause) < 0)
		return -ENOMEM;
	insert(pauses, &pause);
	if (!pause.walked && pause.kind != GCPROF_GC_STOP)
		*copied = pause.causes;
	return 0;
}

static void note_longest(struct pause_events *events, const struct pause_event *event)
{
	size_t at = events->n_longest;

	if (at == PAUSE_CALLS && events->longest[at - 1].overlap_ns >= event->overlap_ns)
		return;
	if (at < PAUSE_CALLS)
		events->n_longest++;
	else
		at--;
	for (; at && events->longest[at - 1].overlap_ns < event->overlap_ns; at--)
		events->longest[at] = events->longest[at - 1];
	events->longest[at] = *event;
}

/*
 * Threads wait in futex calls for the end of a pause, or for work; single ones are of no
 * interest.
 */
static bool is_futex(const struct world *world, const struct pause_event *event)
{
	const char *name = syscall_name(world->model->run.machine, event->number);

	return event->is_call && name &&
	       (strcmp(name, "futex") == 0 || event->number == SYSCALL_LOCK);
}

static void note_call(const struct world *world, struct pause_events *events,
		      const struct pause_event *part)
{
	bool futex = is_futex(world, part);

	events->sums.calls++;
	events->sums.call_ns += part->overlap_ns;
	events->sums.futex_calls += futex;
	events->sums.futex_ns += futex ? part->overlap_ns : 0;
	if (!futex)
		note_longest(events, part);
}

/* How much of a pause lies in this span. */
static uint64_t overlap(const struct long_pause *pause, uint64_t begin, uint64_t end)
{
	uint64_t from = begin > pause->begin ? begin : pause->begin;
	uint64_t to = end < pause->end ? end : pause->end;

	return to > from ? to - from : 0;
}

static void note_own(struct pause_events *events, const struct pause_event *part)
{
	struct pause_event *longest = part->is_call ? &events->own : &events->own_wait;

	*(part->is_call ? &events->sums.own_call_ns : &events->sums.own_wait_ns) +=
		part->overlap_ns;
	if (part->overlap_ns > longest->overlap_ns)
		*longest = *part;
}

static void add_to_pause(const struct world *world, struct long_pause *pause,
			 const struct pause_event *event)
{
	struct pause_events *events = &pause->events;
	struct pause_event part = *event;

	part.overlap_ns = overlap(pause, event->begin, event->begin + event->duration);
	if (!part.overlap_ns)
		return;
	if (event->thread == pause->thread) {
		note_own(events, &part);
	} else if (event->is_call) {
		note_call(world, events, &part);
	} else {
		events->sums.wait_ns += part.overlap_ns;
		/* A wait in a call is shown as that call. */
		if (event->reason != WAIT_CALL)
			note_longest(events, &part);
	}
}

static void add_to_pauses(struct pauses *pauses, const struct world *world,
			  const struct pause_event *event)
{
	struct open_gcs *open = &pauses->open;
	uint64_t process = tasks_find_thread(&world->tasks, event->thread)->process;

	for (size_t i = 0; i < open->count; i++)
		if (open->items[i].pause.process == process)
			add_to_pause(world, &open->items[i].pause, event);
	for (size_t i = 0; i < pauses->n_longest && event->begin < pauses->latest_end; i++)
		if (pauses->longest[i].process == process)
			add_to_pause(world, &pauses->longest[i], event);
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
	};

	if (pauses->open.count || begin < pauses->latest_end)
		add_to_pauses(pauses, world, &event);
}

static void add_traced(const struct world *world, struct long_pause *pause,
		       const struct record_call_window *record)
{
	if (tasks_find_process(&world->tasks, pause->process)->recording == record->recording)
		pause->events.sums.traced_ns += overlap(pause, record->begin, record->end);
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

static void note_tick(struct long_pause *pause, uint64_t process, const struct record_cpu *record)
{
	struct pause_events *events = &pause->events;
	bool own = pause->thread == record->thread;

	if (pause->process == process && record->time >= pause->begin && record->time < pause->end)
		*(own ? &events->own_cpu_ns : &events->cpu_ns) += record->ns;
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
		note_tick(&open->items[i].pause, process, record);
	for (size_t i = 0; i < late; i++)
		note_tick(&pauses->longest[i], process, record);
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

static void fill_figures(const struct world *world, const struct long_pause *pause,
			 struct model_pause *row)
{
	const struct record_gc_end *end = &pause->figures;
	const struct pause_events *events = &pause->events;
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
		.sums = events->sums,
		.cpu_ns = (double)events->cpu_ns,
		.own_cpu_ns = (double)events->own_cpu_ns,
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
		const struct pause_events *events = &pauses->longest[i].events;
		struct model_pause *row = &model->pauses[model->n_pauses++];

		fill_figures(world, &pauses->longest[i], row);
		error = causes_sites(pauses->longest[i].causes, world, row);
		row->n_longest = events->n_longest;
		for (size_t j = 0; j < events->n_longest && !error; j++)
			error = fill_call(world, &events->longest[j], &row->longest[j]);
		if (!error && events->own.is_call)
			error = fill_call(world, &events->own, &row->own_call);
		if (!error && events->own_wait.overlap_ns)
			error = fill_call(world, &events->own_wait, &row->own_wait);
	}
	return error;
}
