/* SPDX-License-Identifier: BSD-2-Clause */
/* cycles.c: collections: their pauses, and the timer samples inside them. */
/*
 * Collections nest: a full one may contain a minor one. The time of the inner one is not counted
 * in the outer one, so times can be added up.
 *
 * A timer sample belongs to a collection if its thread is collecting and its time is in [begin,
 * end). It is counted only when the collection ends, because a collection without a known end has
 * no known duration.
 *
 * Frequent short collections are known only from summaries. Their thread is on a CPU all the
 * time, so their duration counts as CPU time in collections. On the timeline they are spread
 * evenly over the time of the summary.
 */
#include "cycles.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../../../bpf/events.h"
#include "../world/world.h"

enum { PIECES_MAX = 64 }; /* pauses that a summary is spread over */

void cycles_init(struct cycles *cycles, struct world *world, struct open_gcs *open)
{
	*cycles = (struct cycles){.world = world, .open = open};
}

void cycles_free(struct cycles *cycles)
{
	durations_free(&cycles->minor);
	durations_free(&cycles->major);
	durations_free(&cycles->others);
	durations_free(&cycles->around);
	durations_free(&cycles->stops);
	free(cycles->pauses);
	spent_free(&cycles->spent);
}

int cycles_begin(struct cycles *cycles, const struct record_gc_begin *record)
{
	struct thread *thread = tasks_find_thread(&cycles->world->tasks, record->thread);
	struct process *process;
	struct open_gc begun;

	if (!thread || record->kind < GCPROF_GC_MINOR || record->kind > GCPROF_GC_STOP)
		return -EBADMSG;
	begun = (struct open_gc){.pause = {.process = thread->process,
					   .thread = record->thread,
					   .heap = record->heap,
					   .cycle = record->cycle,
					   .kind = record->kind,
					   .reason = record->reason,
					   .name = record->name,
					   .begin = record->time,
					   .end = UINT64_MAX},
				 .stop = record->stop};
	cycles->world->model->gc.unpaired += open_gcs_begin(cycles->open, &begun);
	process = tasks_find_process(&cycles->world->tasks, thread->process);
	process->collecting = record->kind != GCPROF_GC_STOP;
	process->last_gc = (uint32_t)record->kind;
	process->has_minors |= record->kind == GCPROF_GC_MINOR;
	process->markings += record->kind == GCPROF_GC_FULL;
	return 0;
}

void cycles_leave(struct cycles *cycles, uint64_t thread, uint64_t time)
{
	cycles->world->model->gc.unpaired += open_gcs_leave(cycles->open, thread, time);
}

static void note_figures(struct model_gc *gc, const struct record_gc_end *record)
{
	uint64_t heap = record->arena_bytes + record->large_bytes + record->nursery_used;

	raise_to(&gc->rss_peak_bytes, record->rss_bytes);
	raise_to(&gc->heap_peak_bytes, record->heap_before);
	raise_to(&gc->heap_peak_bytes, record->heap_after);
	gc->unreachable += record->unreachable;
	if (record->heap_after && record->heap_before > record->heap_after)
		gc->freed_bytes += record->heap_before - record->heap_after;
	if (!record->has_stats)
		return;
	gc->promoted_known = true;
	gc->promoted_bytes += record->promoted_bytes;
	gc->promoted_objects += record->promoted_objects;
	raise_to(&gc->nursery_bytes, record->nursery_used);
	gc->stop_ns += record->stop_ns;
	raise_to(&gc->stop_max_ns, record->stop_ns);
	raise_to(&gc->heap_peak_bytes, heap);
}

/* Adds what a collection found to the window of its end. */
static void note_window(struct cycles *cycles, const struct record_gc_end *record)
{
	struct window *window = timeline_at(&cycles->world->timeline, record->time);

	window->minor += record->kind == GCPROF_GC_MINOR;
	window->major += record->kind == GCPROF_GC_STEP || record->kind == GCPROF_GC_FULL;
	if (record->rss_bytes)
		window->rss_bytes = record->rss_bytes;
	if (record->heap_after)
		window->heap_bytes = record->heap_after;
	if (!record->has_stats)
		return;
	window->promoted_bytes += record->promoted_bytes;
	window->heap_bytes = record->arena_bytes + record->large_bytes;
	window->live_bytes = record->live_bytes;
}

static int add_pause(struct cycles *cycles, const struct pause *pause)
{
	if (array_reserve(&cycles->pauses, &cycles->pauses_capacity, cycles->n_pauses,
			  sizeof(*cycles->pauses)) < 0)
		return -ENOMEM;
	cycles->pauses[cycles->n_pauses++] = *pause;
	return 0;
}

/* A request may take several collections, all in one stop. A stop without one is part of a cycle.
 */
static void note_request(struct cycles *cycles, struct thread *thread,
			 const struct long_pause *pause)
{
	if (pause->reason != GCPROF_REASON_EXPLICIT || pause->kind == GCPROF_GC_STOP ||
	    thread->stop.requested)
		return;
	thread->stop.requested = true;
	cycles->world->model->gc.requests++;
}

/* Extends the stop that the pause belongs to, or starts a new one. */
static int note_stop(struct cycles *cycles, struct thread *thread, const struct open_gc *open,
		     uint64_t end)
{
	const struct long_pause *pause = &open->pause;
	bool same = open->stop && open->stop == thread->stop.number &&
		    pause->heap == thread->stop.heap && thread->stop.index < cycles->stops.count;

	if (open->inside)
		return 0;
	if (same && end > thread->stop.begin) {
		cycles->stops.ns[thread->stop.index] = end - thread->stop.begin;
		note_request(cycles, thread, pause);
		return 0;
	}
	thread->stop.requested = false;
	note_request(cycles, thread, pause);
	thread->stop.heap = pause->heap;
	thread->stop.number = open->stop;
	thread->stop.begin = pause->begin;
	thread->stop.index = cycles->stops.count;
	return durations_add(&cycles->stops, end > pause->begin ? end - pause->begin : 0);
}

static struct durations *durations_of(struct cycles *cycles, uint64_t kind)
{
	switch (kind) {
	case GCPROF_GC_MINOR:
		return &cycles->minor;
	case GCPROF_GC_STEP:
	case GCPROF_GC_FULL:
		return &cycles->major;
	default:
		return &cycles->others;
	}
}

/* Such as a stop of all threads for a collection: only the rest of its time is not yet known. */
static bool is_around(const struct open_gc *open)
{
	return open->pause.kind == GCPROF_GC_STOP && open->nested_ns;
}

static int note_kind(struct cycles *cycles, const struct open_gc *open, uint64_t ns)
{
	if (is_around(open))
		return durations_add(&cycles->around, ns);
	if (durations_add(durations_of(cycles, open->pause.kind), ns) < 0)
		return -ENOMEM;
	return gc_names_pause(&cycles->world->gc_names, &open->pause, ns);
}

/* Adds a collection with known begin and end to everything that counts pauses. */
static int note_pause(struct cycles *cycles, struct thread *thread,
		      const struct collection *collection, const struct open_gc *open, uint64_t end)
{
	const struct long_pause *pause = &open->pause;
	struct process *process = tasks_find_process(&cycles->world->tasks, pause->process);
	struct model_gc *gc = &cycles->world->model->gc;
	uint64_t reason = pause->reason < GC_REASONS ? pause->reason : 0;
	struct window *window;

	process->pauses += !is_around(open);
	process->pause_ns += collection->pause_ns;
	if (pause->reason < GC_NAMES_FIRST && (reason || pause->kind != GCPROF_GC_STOP)) {
		gc->reasons[reason].count++;
		gc->reasons[reason].total_ns += collection->pause_ns;
	}
	/* A nested one is already part of the outer one's time. */
	if (!open->inside)
		timeline_pause(&cycles->world->timeline, pause->begin, end);
	window = timeline_at(&cycles->world->timeline, end);
	if (collection->pause_ns > window->pause_max_ns)
		window->pause_max_ns = collection->pause_ns;
	if (note_kind(cycles, open, collection->pause_ns) < 0 ||
	    note_stop(cycles, thread, open, end) < 0)
		return -ENOMEM;
	return add_pause(cycles,
			 &(struct pause){collection->process, pause->heap, pause->begin, end,
					 collection->pause_ns, !is_around(open), pause->thread});
}

/* Faults of nested collections are not counted here. */
static void note_faults(struct model_faults *faults, const struct record_gc_end *record,
			uint64_t nested)
{
	uint64_t all = record->minor_faults + record->major_faults;

	faults->unknown_gcs += record->batched != 0;
	all = all > nested ? all - nested : 0;
	if (record->kind == GCPROF_GC_STEP || record->kind == GCPROF_GC_FULL)
		faults->in_major_gc += all;
	else
		faults->in_minor_gc += all;
}

/* Adds the collection to the thread that began it. */
static void note_thread(struct cycles *cycles, struct thread *thread, const struct open_gc *open,
			uint64_t end)
{
	thread->recent[thread->next_recent].begin = open->pause.begin;
	thread->recent[thread->next_recent].end = end;
	thread->recent[thread->next_recent].kind = open->pause.kind;
	thread->next_recent = (thread->next_recent + 1) % RECENT_MAX;
	thread->gc_samples += open->cpu_samples;
	thread->gc_cpu_ns += open->cpu_ns;
	cycles->world->model->cpu.gc_samples += open->cpu_samples;
	cycles->world->model->cpu.in_gc_ns += open->cpu_ns;
}

/* Excludes its time from the collection that contains it. */
static void note_nested(struct cycles *cycles, const struct open_gc *open, uint64_t whole,
			const struct record_gc_end *record)
{
	struct open_gcs *others = cycles->open;
	int outer = open_gcs_find(others, open->pause.thread, UINT64_MAX);

	if (outer < 0)
		return;
	others->items[outer].nested_ns += whole;
	others->items[outer].nested_faults += record->minor_faults + record->major_faults;
}

static int end_paired(struct cycles *cycles, const struct event *event, struct open_gc *open,
		      struct collection *collection)
{
	const struct record_gc_end *record = &event->record->gc_end;
	struct thread *thread = tasks_find_thread(&cycles->world->tasks, open->pause.thread);
	uint64_t begin = open->pause.begin;
	uint64_t whole = record->time > begin ? record->time - begin : 0, without;

	if (record->reason)
		open->pause.reason = record->reason;
	without = open->nested_ns + record->recording_ns;
	open->pause.pause_ns = whole > without ? whole - without : 0;
	collection->timed = true;
	collection->count = 1;
	collection->pause_ns = open->pause.pause_ns;
	collection->has_stats = record->has_stats;
	collection->promoted_bytes = record->promoted_bytes;
	note_faults(&cycles->world->model->faults, record, open->nested_faults);
	note_nested(cycles, open, whole, record);
	note_thread(cycles, thread, open, record->time);
	if (!event->selected)
		return 0;
	cycles->world->model->gc.major.cycles += record->kind == GCPROF_GC_FULL;
	return note_pause(cycles, thread, collection, open, record->time);
}

int cycles_end(struct cycles *cycles, const struct event *event, struct ended_gc *ended)
{
	const struct record_gc_end *record = &event->record->gc_end;
	struct thread *thread = tasks_find_thread(&cycles->world->tasks, record->thread);
	struct model_gc *gc = &cycles->world->model->gc;
	struct open_gc open;
	size_t lost;
	int err = 0;

	*ended = (struct ended_gc){0};
	if (!thread || record->kind < GCPROF_GC_MINOR || record->kind > GCPROF_GC_STOP)
		return -EBADMSG;
	if (event->selected) {
		note_figures(gc, record);
		note_window(cycles, record);
	}
	tasks_find_process(&cycles->world->tasks, thread->process)->collecting = false;
	ended->collection.minor = record->kind == GCPROF_GC_MINOR;
	ended->collection.process = thread->process;
	ended->paired = open_gcs_end(cycles->open, thread->process, record, &open, &lost);
	gc->unpaired += lost + !ended->paired;
	if (ended->paired) {
		err = end_paired(cycles, event, &open, &ended->collection);
		ended->pause = open.pause;
	}
	return err;
}

static void sum_figures(struct model_gc *gc, const struct record_gc_summary *record)
{
	uint64_t reason = record->reason < GC_REASONS ? record->reason : 0;

	if (record->reason < GC_NAMES_FIRST) {
		gc->reasons[reason].count += record->count;
		gc->reasons[reason].total_ns += record->total_ns;
	}
	gc->stop_ns += record->stop_ns;
	raise_to(&gc->stop_max_ns, record->stop_max_ns);
	raise_to(&gc->heap_peak_bytes, record->heap_max);
	gc->promoted_known = true;
	gc->promoted_bytes += record->promoted_bytes;
	gc->promoted_objects += record->promoted_objects;
	raise_to(&gc->nursery_bytes, record->nursery_max);
}

/* Earlier writers did not know the reasons of stops. */
static void sum_requests(struct model_gc *gc, const struct record_gc_summary *record)
{
	if (record->reason == GCPROF_REASON_EXPLICIT)
		gc->requests += record->count;
	gc->requests_missing |= !record->reason;
}

static void sum_window(struct cycles *cycles, const struct record_gc_summary *record)
{
	struct window *window = timeline_at(&cycles->world->timeline, record->time);

	window->minor += record->kind == GCPROF_GC_MINOR ? record->count : 0;
	window->major += record->kind == GCPROF_GC_STEP ? record->count : 0;
	window->promoted_bytes += record->promoted_bytes;
}

/* Spreads the pauses evenly over the time of the summary, with a different offset for each kind. */
static int spread_pauses(struct cycles *cycles, uint64_t process,
			 const struct record_gc_summary *record)
{
	uint64_t pieces = record->count < PIECES_MAX ? record->count : PIECES_MAX;
	uint64_t room = record->span / pieces, ns = record->total_ns / pieces;
	uint64_t at = record->time - record->span +
		      (room - ns) / GCPROF_GC_FULL * (record->kind - GCPROF_GC_MINOR);
	struct pause pause;

	for (uint64_t i = 0; i < pieces; i++, at += room) {
		timeline_pause(&cycles->world->timeline, at, at + ns);
		timeline_at(&cycles->world->timeline, at)->gc_cpu_ns +=
			cycles->world->model->run.frequency ? ns : 0;
		pause = (struct pause){process,
				       record->heap,
				       at,
				       at + ns,
				       ns,
				       record->count / pieces + (i < record->count % pieces),
				       record->thread};
		if (add_pause(cycles, &pause) < 0)
			return -ENOMEM;
	}
	return 0;
}

static int note_sums(struct cycles *cycles, struct thread *thread,
		     const struct record_gc_summary *record)
{
	struct process *process = tasks_find_process(&cycles->world->tasks, thread->process);

	process->pauses += record->count;
	process->pause_ns += record->total_ns;
	cycles->world->model->faults.unknown_gcs += record->count;
	if (cycles->world->model->run.frequency) {
		thread->gc_cpu_ns += record->total_ns;
		cycles->world->model->cpu.in_gc_ns += record->total_ns;
	}
	sum_figures(&cycles->world->model->gc, record);
	sum_window(cycles, record);
	if (record->reason >= GC_NAMES_FIRST &&
	    gc_names_reason(&cycles->world->gc_names, thread->process, record->reason,
			    record->count, record->total_ns) < 0)
		return -ENOMEM;
	return spread_pauses(cycles, thread->process, record);
}

int cycles_summary(struct cycles *cycles, const struct event *event, struct collection *out)
{
	const struct record_gc_summary *record = &event->record->gc_summary;
	struct thread *thread = tasks_find_thread(&cycles->world->tasks, record->thread);
	struct durations none = {0}, *durations = &cycles->stops;
	int err;

	*out = (struct collection){0};
	if (!thread || !record->count || record->kind >= GCPROF_GC_STOP ||
	    record->total_ns > record->span || record->span > record->time)
		return -EBADMSG;
	if (record->kind != GCPROF_GC_STOPS)
		durations = durations_of(cycles, record->kind);
	err = durations_add_sums(event->selected ? durations : &none, record);
	if (err)
		return err;
	tasks_find_process(&cycles->world->tasks, thread->process)->markings +=
		(uint32_t)record->cycles;
	cycles->world->model->gc.major.cycles += record->cycles;
	if (record->kind == GCPROF_GC_STOPS) {
		if (event->selected)
			sum_requests(&cycles->world->model->gc, record);
		return 0;
	}
	*out = (struct collection){
		.process = thread->process,
		.pause_ns = record->total_ns,
		.count = record->count,
		.timed = true,
		.minor = record->kind == GCPROF_GC_MINOR,
		.has_stats = true,
		.promoted_bytes = record->promoted_bytes,
	};
	if (cycles->world->model->run.frequency)
		spent_summary(tasks_find_process(&cycles->world->tasks, thread->process), record);
	return event->selected ? note_sums(cycles, thread, record) : 0;
}

static bool is_in_full(const struct cycles *cycles, uint64_t process, uint64_t heap)
{
	const struct open_gcs *open = cycles->open;

	for (size_t i = 0; i < open->count; i++)
		if (open->items[i].pause.kind == GCPROF_GC_FULL &&
		    open->items[i].pause.process == process && open->items[i].pause.heap == heap)
			return true;
	return false;
}

/*
 * An incremental major collection begins with the marking phase. A full one is counted at its
 * end.
 */
int cycles_phase(struct cycles *cycles, const struct record_phase *record)
{
	const struct thread *thread = tasks_find_thread(&cycles->world->tasks, record->thread);
	struct process *process;

	if (!thread)
		return -EBADMSG;
	process = tasks_find_process(&cycles->world->tasks, thread->process);
	process->phase = record->phase <= GCPROF_PHASE_FINALIZING ? (uint32_t)record->phase : 0;
	if (record->phase != GCPROF_PHASE_MARKING)
		return 0;
	if (is_in_full(cycles, thread->process, record->heap))
		return 0;
	cycles->world->model->gc.major.cycles++;
	process->markings++;
	return 0;
}

/* The innermost of the recently ended collections that contains this time, -1: none. */
static int find_recent(const struct thread *thread, uint64_t time)
{
	int found = -1;

	for (int i = 0; i < RECENT_MAX; i++) {
		if (time < thread->recent[i].begin || time >= thread->recent[i].end)
			continue;
		if (found < 0 || thread->recent[i].begin >= thread->recent[found].begin)
			found = i;
	}
	return found;
}

void cycles_find(const struct cycles *cycles, uint64_t id, uint64_t time, struct event *event)
{
	const struct thread *thread = tasks_find_thread(&cycles->world->tasks, id);
	int open = open_gcs_find(cycles->open, id, time);
	int recent = open >= 0 || !thread ? -1 : find_recent(thread, time);

	if (open >= 0) {
		event->gc_begin = cycles->open->items[open].pause.begin;
		event->gc_kind = cycles->open->items[open].pause.kind;
	} else if (recent >= 0) {
		event->gc_begin = thread->recent[recent].begin;
		event->gc_kind = thread->recent[recent].kind;
	}
}

uint64_t cycles_last_kind(const struct cycles *cycles, uint64_t id)
{
	const struct thread *thread = tasks_find_thread(&cycles->world->tasks, id);

	return thread ? tasks_find_process(&cycles->world->tasks, thread->process)->last_gc : 0;
}

/* Adds to the totals and to the thread. */
static void note_cpu(struct cycles *cycles, struct thread *thread, const struct record_cpu *record)
{
	struct model_cpu *cpu = &cycles->world->model->cpu;
	const uint32_t ticks = record_cpu_ticks(record);

	thread->cpu_samples += ticks;
	thread->cpu_ns += record->ns;
	cpu->records++;
	cpu->squares += (double)record->ns * (double)record->ns;
	cpu->samples += ticks;
	cpu->on_cpu_ns += record->ns;
	*(record->mode == CPU_MODE_KERNEL ? &cpu->kernel_ns : &cpu->user_ns) += record->ns;
}

/* A timer sample in a pause, which is in progress (its index) or not (-1). */
static int note_gc_cpu(struct cycles *cycles, struct thread *thread, uint32_t cost, int open,
		       const struct record_cpu *record)
{
	struct cost_rest *rest = tree_rest(&cycles->world->tree, cost);
	struct model_cpu *cpu = &cycles->world->model->cpu;
	const uint32_t ticks = record_cpu_ticks(record);

	if (!rest)
		return -ENOMEM;
	rest->gc_cpu_ns += record->ns;
	timeline_at(&cycles->world->timeline, record->time)->gc_cpu_ns += record->ns;
	if (open >= 0) {
		cycles->open->items[open].cpu_samples += ticks;
		cycles->open->items[open].cpu_ns += record->ns;
		return 0;
	}
	thread->gc_samples += ticks;
	thread->gc_cpu_ns += record->ns;
	cpu->gc_samples += ticks;
	cpu->in_gc_ns += record->ns;
	return 0;
}

int cycles_cpu(struct cycles *cycles, const struct event *event)
{
	const struct record_cpu *record = &event->record->cpu;
	struct thread *thread = tasks_find_thread(&cycles->world->tasks, record->thread);
	int64_t cost;

	if (!thread)
		return -EBADMSG;
	if (spent_cpu(&cycles->spent, cycles->world, event->gc_kind, record) < 0)
		return -ENOMEM;
	if (!event->selected)
		return 0;
	cost = tree_cost(&cycles->world->tree, record->stack);
	if (cost < 0)
		return -ENOMEM;
	cost_add_samples(&cycles->world->tree.costs[cost], record_cpu_ticks(record), record->ns);
	note_cpu(cycles, thread, record);
	timeline_at(&cycles->world->timeline, record->time)->cpu_ns += record->ns;
	if (!event->gc_kind)
		return 0;
	return note_gc_cpu(cycles, thread, (uint32_t)cost,
			   open_gcs_find(cycles->open, record->thread, record->time), record);
}

int cycles_finish(struct cycles *cycles)
{
	struct model_gc *gc = &cycles->world->model->gc;
	struct model_cpu *cpu = &cycles->world->model->cpu;

	/* Summarized pauses may include time without a CPU. */
	if (cpu->in_gc_ns > cpu->on_cpu_ns)
		cpu->in_gc_ns = cpu->on_cpu_ns;
	durations_summarize(&cycles->minor, &gc->minor);
	durations_summarize(&cycles->major, &gc->major);
	durations_summarize(&cycles->others, &gc->others);
	durations_summarize(&cycles->around, &gc->around);
	durations_summarize(&cycles->stops, &gc->stops);
	utilisation_fill(cycles->pauses, cycles->n_pauses, cycles->world->model->run.duration, gc);
	gc->unpaired += cycles->open->count;
	return spent_finish(&cycles->spent, cycles->world);
}
