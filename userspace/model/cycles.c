/* SPDX-License-Identifier: BSD-2-Clause */
/* cycles.c: collections: their pauses, and which timer samples lie inside. */
/*
 * Collections are kept per thread: the thread that begins one ends it. A full
 * collection may contain a minor one, so they nest; the time of the inner one is
 * counted there and not in the outer one, so that times can be added up.
 *
 * A timer sample belongs to a collection if its thread collects and its time is
 * in [begin, end). It is counted only once that collection has ended: if the end
 * was lost, nobody knows how long it was.
 *
 * Short collections that come quickly are known as sums only. Their thread is on a CPU
 * for as long as they take, so that time counts as its CPU time in collections; where
 * it matters when they were, they lie evenly over the time that the sums are of.
 */
#include "cycles.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../../bpf/events.h"
#include "pass.h"
#include "syscalls.h"
#include "utilisation.h"

enum { PIECES_MAX = 64 }; /* that a summary is spread over its time in */

void cycles_free(struct cycles *cycles)
{
	free(cycles->minor.ns);
	free(cycles->major.ns);
	free(cycles->survey.ns);
	free(cycles->stops.ns);
	free(cycles->pauses);
}

int cycles_begin(struct pass *pass, const struct record_gc_begin *record)
{
	struct thread *thread = tasks_find_thread(&pass->tasks, record->thread);
	uint64_t *unpaired = &pass->model->gc.unpaired;
	struct process *process;
	struct open_gc *open;

	if (!thread || record->kind < GCPROF_GC_MINOR || record->kind > GCPROF_GC_SURVEY)
		return -EBADMSG;
	/* The same kind cannot nest in itself: the end of the earlier one was lost. */
	for (uint32_t i = 0; i < thread->n_open; i++) {
		if (thread->open[i].heap == record->heap && thread->open[i].kind == record->kind) {
			*unpaired += thread->n_open - i;
			thread->n_open = i;
		}
	}
	if (thread->n_open == OPEN_MAX) {
		*unpaired += OPEN_MAX;
		thread->n_open = 0;
	}
	open = &thread->open[thread->n_open++];
	*open = (struct open_gc){.heap = record->heap,
				 .cycle = record->cycle,
				 .kind = record->kind,
				 .reason = record->reason,
				 .stop = record->stop,
				 .inside = thread->n_open > 1,
				 .begin = record->time};
	pauses_begin(pass, record);
	process = tasks_find_process(&pass->tasks, thread->process);
	process->last_gc = (uint32_t)record->kind;
	process->markings += record->kind == GCPROF_GC_FULL;
	return 0;
}

static int add_duration(struct durations *durations, uint64_t ns)
{
	if (array_reserve(&durations->ns, &durations->capacity, durations->count, sizeof(ns)) < 0)
		return -ENOMEM;
	durations->ns[durations->count++] = ns;
	return 0;
}

/* Takes the collection that `record` ends off the thread's list; false: its begin is not there. */
static bool close_gc(struct pass *pass, struct thread *thread, const struct record_gc_end *record,
		     struct open_gc *out)
{
	uint32_t i = thread->n_open;

	while (i && (thread->open[i - 1].heap != record->heap ||
		     thread->open[i - 1].cycle != record->cycle ||
		     thread->open[i - 1].kind != record->kind))
		i--;
	if (!i) {
		pass->model->gc.unpaired++;
		return false;
	}
	*out = thread->open[i - 1];
	pass->model->gc.unpaired += thread->n_open - i;
	thread->n_open = i - 1;
	return true;
}

static void raise_to(uint64_t *most, uint64_t value)
{
	if (*most < value)
		*most = value;
}

static void note_figures(struct model_gc *gc, const struct record_gc_end *record)
{
	uint64_t heap = record->arena_bytes + record->large_bytes + record->nursery_used;

	raise_to(&gc->rss_peak_bytes, record->rss_bytes);
	if (!record->has_stats)
		return;
	if (record->kind == GCPROF_GC_MINOR) {
		gc->promoted_bytes += record->promoted_bytes;
		gc->promoted_objects += record->promoted_objects;
		raise_to(&gc->nursery_bytes, record->nursery_used);
	}
	gc->stop_ns += record->stop_ns;
	raise_to(&gc->stop_max_ns, record->stop_ns);
	raise_to(&gc->heap_peak_bytes, heap);
}

/* What a collection found, in the window of its end; how long it was, wherever it was. */
static void note_window(struct pass *pass, const struct record_gc_end *record)
{
	struct window *window = timeline_at(&pass->timeline, record->time);
	bool minor = record->kind == GCPROF_GC_MINOR;

	window->minor += minor;
	window->major += record->kind == GCPROF_GC_STEP || record->kind == GCPROF_GC_FULL;
	if (record->rss_bytes)
		window->rss_bytes = record->rss_bytes;
	if (!record->has_stats)
		return;
	window->promoted_bytes += minor ? record->promoted_bytes : 0;
	window->heap_bytes = record->arena_bytes + record->large_bytes;
	window->live_bytes = record->live_bytes;
}

static int add_pause(struct cycles *cycles, uint64_t process, uint64_t begin, uint64_t end)
{
	if (array_reserve(&cycles->pauses, &cycles->pauses_capacity, cycles->n_pauses,
			  sizeof(*cycles->pauses)) < 0)
		return -ENOMEM;
	cycles->pauses[cycles->n_pauses++] = (struct pause){process, begin, end};
	return 0;
}

/* The stop that it lies in becomes longer, or is a new one. */
static int note_stop(struct cycles *cycles, struct thread *thread, const struct open_gc *open,
		     uint64_t end)
{
	bool same = open->stop && open->stop == thread->stop.number &&
		    open->heap == thread->stop.heap && thread->stop.index < cycles->stops.count;

	if (open->inside)
		return 0;
	if (same && end > thread->stop.begin) {
		cycles->stops.ns[thread->stop.index] = end - thread->stop.begin;
		return 0;
	}
	thread->stop.heap = open->heap;
	thread->stop.number = open->stop;
	thread->stop.begin = open->begin;
	thread->stop.index = cycles->stops.count;
	return add_duration(&cycles->stops, end > open->begin ? end - open->begin : 0);
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
		return &cycles->survey;
	}
}

/* A collection whose both ends are known, into all that is kept of pauses. */
static int note_pause(struct pass *pass, struct thread *thread, const struct collection *collection,
		      const struct open_gc *open, uint64_t end)
{
	struct cycles *cycles = &pass->cycles;
	struct process *process = tasks_find_process(&pass->tasks, thread->process);
	struct model_gc *gc = &pass->model->gc;
	uint64_t reason = open->reason < GC_REASONS ? open->reason : 0;

	if (!pass->selected)
		return 0;
	process->pauses++;
	process->pause_ns += collection->pause_ns;
	gc->reasons[reason].count++;
	gc->reasons[reason].total_ns += collection->pause_ns;
	/* One inside another has its time told already by the other. */
	if (!open->inside)
		timeline_pause(&pass->timeline, open->begin, end);
	if (add_duration(durations_of(cycles, open->kind), collection->pause_ns) < 0 ||
	    note_stop(cycles, thread, open, end) < 0)
		return -ENOMEM;
	return add_pause(cycles, collection->process, open->begin, end);
}

/* Those of collections inside this one are not its own. */
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

int cycles_end(struct pass *pass, const struct record_gc_end *record)
{
	struct thread *thread = tasks_find_thread(&pass->tasks, record->thread);
	struct model_gc *gc = &pass->model->gc;
	struct collection collection = {0};
	struct open_gc open;
	uint64_t whole;
	bool minor = record->kind == GCPROF_GC_MINOR;

	if (!thread || record->kind < GCPROF_GC_MINOR || record->kind > GCPROF_GC_SURVEY)
		return -EBADMSG;
	if (pass->selected) {
		note_figures(gc, record);
		note_window(pass, record);
	}
	collection.process = thread->process;
	collection.minor = minor;
	collection.survey = durations_of(&pass->cycles, record->kind) == &pass->cycles.survey;
	pass->cycles.last = (struct closed_gc){0};
	if (!close_gc(pass, thread, record, &open)) {
		pauses_end(pass, record, 0);
		return samples_collected(pass, &collection);
	}
	whole = record->time > open.begin ? record->time - open.begin : 0;
	collection.timed = true;
	collection.count = 1;
	collection.pause_ns = whole > open.nested_ns ? whole - open.nested_ns : 0;
	collection.has_stats = record->has_stats;
	collection.promoted_bytes = record->promoted_bytes;
	pass->cycles.last = (struct closed_gc){true, open.begin, collection.pause_ns, open.reason};
	note_faults(&pass->model->faults, record, open.nested_faults);
	if (thread->n_open) {
		thread->open[thread->n_open - 1].nested_ns += whole;
		thread->open[thread->n_open - 1].nested_faults +=
			record->minor_faults + record->major_faults;
	}
	thread->recent[thread->next_recent].begin = open.begin;
	thread->recent[thread->next_recent].end = record->time;
	thread->recent[thread->next_recent].kind = record->kind;
	thread->next_recent = (thread->next_recent + 1) % RECENT_MAX;
	thread->gc_samples += open.cpu_samples;
	thread->gc_cpu_ns += open.cpu_ns;
	pass->model->cpu.gc_samples += open.cpu_samples;
	pass->model->cpu.in_gc_ns += open.cpu_ns;
	if (note_pause(pass, thread, &collection, &open, record->time) < 0 ||
	    pauses_end(pass, record, pass->selected ? collection.pause_ns : 0) < 0)
		return -ENOMEM;
	gc->major.cycles += pass->selected && record->kind == GCPROF_GC_FULL;
	return samples_collected(pass, &collection);
}

/* All of them at once, as durations. -EBADMSG: the histogram is not theirs. */
static int sum_durations(struct durations *durations, const struct record_gc_summary *record)
{
	uint64_t histogram[SYSCALL_BUCKETS], count = 0;

	histogram_read(record->histogram, histogram);
	for (uint32_t i = 0; i < SYSCALL_BUCKETS; i++)
		count += histogram[i];
	if (count != record->count)
		return -EBADMSG;
	for (uint32_t i = 0; i < SYSCALL_BUCKETS; i++)
		durations->histogram[i] += histogram[i];
	durations->summed += record->count;
	durations->summed_ns += record->total_ns;
	raise_to(&durations->summed_max, record->max_ns);
	return 0;
}

static void sum_figures(struct model_gc *gc, const struct record_gc_summary *record)
{
	uint64_t reason = record->reason < GC_REASONS ? record->reason : 0;

	gc->reasons[reason].count += record->count;
	gc->reasons[reason].total_ns += record->total_ns;
	gc->stop_ns += record->stop_ns;
	raise_to(&gc->stop_max_ns, record->stop_max_ns);
	raise_to(&gc->heap_peak_bytes, record->heap_max);
	if (record->kind != GCPROF_GC_MINOR)
		return;
	gc->promoted_bytes += record->promoted_bytes;
	gc->promoted_objects += record->promoted_objects;
	raise_to(&gc->nursery_bytes, record->nursery_max);
}

static void sum_window(struct pass *pass, const struct record_gc_summary *record)
{
	struct window *window = timeline_at(&pass->timeline, record->time);
	bool minor = record->kind == GCPROF_GC_MINOR;

	window->minor += minor ? record->count : 0;
	window->major += record->kind == GCPROF_GC_STEP ? record->count : 0;
	window->promoted_bytes += minor ? record->promoted_bytes : 0;
}

/* Pauses evenly over the time of the sums; those of each kind at another place between the
 * others. */
static int spread_pauses(struct pass *pass, uint64_t process,
			 const struct record_gc_summary *record)
{
	uint64_t pieces = record->count < PIECES_MAX ? record->count : PIECES_MAX;
	uint64_t room = record->span / pieces, ns = record->total_ns / pieces;
	uint64_t at = record->time - record->span +
		      (room - ns) / GCPROF_GC_SURVEY * (record->kind - GCPROF_GC_MINOR);

	for (uint64_t i = 0; i < pieces; i++, at += room) {
		timeline_pause(&pass->timeline, at, at + ns);
		timeline_at(&pass->timeline, at)->gc_cpu_ns += pass->model->run.frequency ? ns : 0;
		if (add_pause(&pass->cycles, process, at, at + ns) < 0)
			return -ENOMEM;
	}
	return 0;
}

static int note_sums(struct pass *pass, struct thread *thread,
		     const struct record_gc_summary *record)
{
	struct process *process = tasks_find_process(&pass->tasks, thread->process);

	if (!pass->selected)
		return 0;
	process->pauses += record->count;
	process->pause_ns += record->total_ns;
	pass->model->faults.unknown_gcs += record->count;
	if (pass->model->run.frequency) {
		thread->gc_cpu_ns += record->total_ns;
		pass->model->cpu.in_gc_ns += record->total_ns;
	}
	sum_figures(&pass->model->gc, record);
	sum_window(pass, record);
	return spread_pauses(pass, thread->process, record);
}

int cycles_summary(struct pass *pass, const struct record_gc_summary *record)
{
	struct thread *thread = tasks_find_thread(&pass->tasks, record->thread);
	struct durations none = {0}, *durations = &pass->cycles.stops;
	struct collection collection = {
		.pause_ns = record->total_ns,
		.count = record->count,
		.timed = true,
		.minor = record->kind == GCPROF_GC_MINOR,
		.survey = record->kind == GCPROF_GC_SURVEY,
		.has_stats = true,
		.promoted_bytes = record->promoted_bytes,
	};
	int err;

	if (!thread || !record->count || record->kind > GCPROF_GC_SURVEY ||
	    record->total_ns > record->span || record->span > record->time)
		return -EBADMSG;
	if (record->kind != GCPROF_GC_STOPS)
		durations = durations_of(&pass->cycles, record->kind);
	err = sum_durations(pass->selected ? durations : &none, record);
	if (err)
		return err;
	tasks_find_process(&pass->tasks, thread->process)->markings += (uint32_t)record->cycles;
	pass->model->gc.major.cycles += record->cycles;
	if (record->kind == GCPROF_GC_STOPS)
		return 0;
	err = note_sums(pass, thread, record);
	collection.process = thread->process;
	return err ? err : samples_collected(pass, &collection);
}

/* A major collection in steps begins with marking; in one pause it is counted at its end. */
int cycles_phase(struct pass *pass, const struct record_phase *record)
{
	const struct thread *thread = tasks_find_thread(&pass->tasks, record->thread);
	struct process *process;

	if (!thread)
		return -EBADMSG;
	process = tasks_find_process(&pass->tasks, thread->process);
	process->phase = record->phase <= GCPROF_PHASE_FINALIZING ? (uint32_t)record->phase : 0;
	if (record->phase != GCPROF_PHASE_MARKING)
		return 0;
	for (uint32_t i = 0; i < thread->n_open; i++)
		if (thread->open[i].kind == GCPROF_GC_FULL)
			return 0;
	pass->model->gc.major.cycles++;
	process->markings++;
	return 0;
}

/* Of the collections that ended lately the innermost in which that time lies, -1: none. */
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

/* Number of collections that the thread had under way; those that began later do not count. */
static uint32_t open_at(const struct thread *thread, uint64_t time)
{
	uint32_t i = thread->n_open;

	while (i && time < thread->open[i - 1].begin)
		i--;
	return i;
}

bool cycles_find(const struct thread *thread, uint64_t time, uint64_t *begin)
{
	uint32_t open = open_at(thread, time);
	int recent = open ? -1 : find_recent(thread, time);

	if (!open && recent < 0)
		return false;
	*begin = open ? thread->open[open - 1].begin : thread->recent[recent].begin;
	return true;
}

uint64_t cycles_kind(const struct pass *pass, uint64_t id, uint64_t time)
{
	const struct thread *thread = tasks_find_thread(&pass->tasks, id);
	uint32_t open = thread ? open_at(thread, time) : 0;
	int recent;

	if (open)
		return thread->open[open - 1].kind;
	recent = thread ? find_recent(thread, time) : -1;
	return recent < 0 ? 0 : thread->recent[recent].kind;
}

uint64_t cycles_last_kind(const struct pass *pass, uint64_t id)
{
	const struct thread *thread = tasks_find_thread(&pass->tasks, id);

	return thread ? tasks_find_process(&pass->tasks, thread->process)->last_gc : 0;
}

/* Sums of all, and of the thread. */
static void note_cpu(struct pass *pass, struct thread *thread, const struct record_cpu *record)
{
	struct model_cpu *cpu = &pass->model->cpu;
	const uint32_t ticks = record_cpu_ticks(record);

	thread->cpu_samples += ticks;
	thread->cpu_ns += record->ns;
	cpu->records++;
	cpu->squares += (double)record->ns * (double)record->ns;
	cpu->samples += ticks;
	cpu->on_cpu_ns += record->ns;
	*(record->mode == CPU_MODE_KERNEL ? &cpu->kernel_ns : &cpu->user_ns) += record->ns;
}

int cycles_cpu(struct pass *pass, const struct record_cpu *record)
{
	struct thread *thread = tasks_find_thread(&pass->tasks, record->thread);
	struct model_cpu *cpu = &pass->model->cpu;
	const uint32_t ticks = record_cpu_ticks(record);
	struct window *window;
	int64_t cost;
	uint32_t i;

	if (!thread)
		return -EBADMSG;
	if (!pass->selected)
		return 0;
	cost = tree_cost(&pass->tree, record->stack);
	if (cost < 0)
		return -ENOMEM;
	pauses_cpu(pass, record);
	cost_add_samples(&pass->tree.costs[cost], ticks, record->ns);
	note_cpu(pass, thread, record);
	window = timeline_at(&pass->timeline, record->time);
	window->cpu_ns += record->ns;
	i = open_at(thread, record->time);
	if (i) {
		thread->open[i - 1].cpu_samples += ticks;
		thread->open[i - 1].cpu_ns += record->ns;
		window->gc_cpu_ns += record->ns;
	} else if (find_recent(thread, record->time) >= 0) {
		thread->gc_samples += ticks;
		thread->gc_cpu_ns += record->ns;
		cpu->gc_samples += ticks;
		cpu->in_gc_ns += record->ns;
		window->gc_cpu_ns += record->ns;
	}
	return 0;
}

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* The smallest value that at least this many per cent of all do not exceed; those of which sums
 * are known have the middle of their bucket, or the greatest of them. */
static uint64_t percentile(const struct durations *sorted, uint64_t percent)
{
	uint64_t all = sorted->count + sorted->summed;
	uint64_t rank = all / 100 * percent + (all % 100 * percent + 99) / 100, seen = 0;
	size_t next = 0;

	for (uint32_t i = 0; i < SYSCALL_BUCKETS; i++) {
		uint64_t value = histogram_middle(i);

		if (!sorted->histogram[i])
			continue;
		value = value < sorted->summed_max ? value : sorted->summed_max;
		for (; next < sorted->count && sorted->ns[next] <= value; next++)
			if (++seen >= rank)
				return sorted->ns[next];
		seen += sorted->histogram[i];
		if (seen >= rank)
			return value;
	}
	next += rank - seen;
	return sorted->ns[next ? next - 1 : 0];
}

static void summarize(struct durations *durations, struct model_pauses *out)
{
	if (!durations->count && !durations->summed)
		return;
	if (durations->count)
		qsort(durations->ns, durations->count, sizeof(*durations->ns), by_value);
	out->count = durations->count + durations->summed;
	out->summed = durations->summed;
	out->total_ns = durations->summed_ns;
	out->max_ns = durations->summed_max;
	for (size_t i = 0; i < durations->count; i++) {
		out->total_ns += durations->ns[i];
		out->squares += (double)durations->ns[i] * (double)durations->ns[i];
		raise_to(&out->max_ns, durations->ns[i]);
	}
	for (uint32_t i = 0; i < SYSCALL_BUCKETS; i++)
		out->squares += (double)durations->histogram[i] * (double)histogram_middle(i) *
				(double)histogram_middle(i);
	out->p50_ns = percentile(durations, 50);
	out->p99_ns = percentile(durations, 99);
}

void cycles_finish(struct pass *pass)
{
	struct model_gc *gc = &pass->model->gc;
	struct model_cpu *cpu = &pass->model->cpu;

	/* Short ones that others kept from a CPU. */
	if (cpu->in_gc_ns > cpu->on_cpu_ns)
		cpu->in_gc_ns = cpu->on_cpu_ns;
	summarize(&pass->cycles.minor, &gc->minor);
	summarize(&pass->cycles.major, &gc->major);
	summarize(&pass->cycles.survey, &gc->survey);
	summarize(&pass->cycles.stops, &gc->stops);
	utilisation_fill(pass->cycles.pauses, pass->cycles.n_pauses, pass->model->run.duration, gc);
	for (uint64_t id = 1; id < pass->tasks.threads.limit; id++) {
		const struct thread *thread = tasks_find_thread(&pass->tasks, id);

		if (thread)
			gc->unpaired += thread->n_open;
	}
}
