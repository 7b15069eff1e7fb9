/* SPDX-License-Identifier: BSD-2-Clause */
/* levels.c: what is known about the sizes of heaps, at collections and cycles. */
/*
 * Some runtimes say how much of a heap is in use before and after a collection, others only at the
 * cycles of a concurrent collector; gcprof's own probes say more. The last figure holds until the
 * process or the recording ends, so that no graph stops before.
 */
#include <errno.h>
#include <stdlib.h>

#include "firefox.h"

static int add(struct firefox *firefox, const struct level *level)
{
	if (array_reserve(&firefox->levels, &firefox->levels_capacity, firefox->n_levels,
			  sizeof(*level)) < 0)
		return -ENOMEM;
	firefox->levels[firefox->n_levels] = *level;
	firefox->levels[firefox->n_levels++].time = firefox_time(firefox, level->time);
	return 0;
}

static int add_gc(struct firefox *firefox, const struct gc_mark *gc)
{
	const struct record_gc_end *end = &gc->end;
	struct level level = {.process = gc->process,
			      .heap = end->heap,
			      .time = end->time,
			      .exact = end->has_stats,
			      .used = end->heap_after,
			      .committed = end->heap_size,
			      .rss = end->rss_bytes};
	struct level before = {.process = gc->process,
			       .heap = end->heap,
			       .time = gc->closed.begin,
			       .used = end->heap_before,
			       .committed = end->heap_size};
	int error = 0;

	if (end->has_stats) {
		level.used = end->live_bytes;
		level.committed = end->arena_bytes + end->large_bytes;
		level.arenas = end->arena_bytes;
		level.large = end->large_bytes;
		level.allocated = end->allocated_bytes;
	} else if (!end->heap_after && !end->rss_bytes) {
		return 0;
	} else if (end->heap_after && end->heap_before) {
		error = add(firefox, &before);
	}
	return error ? error : add(firefox, &level);
}

/* The values are in the order of take_gc_cycle(). */
static int add_cycle(struct firefox *firefox, const struct mark *mark)
{
	struct level level = {.process = mark->values[0], .heap = mark->values[7]};
	int error = 0;

	level.time = mark->start;
	level.used = mark->values[4];
	if (level.used)
		error = add(firefox, &level);
	level.time = mark->end;
	level.used = mark->values[5];
	return error || !level.used ? error : add(firefox, &level);
}

static int by_heap(const void *a, const void *b)
{
	const struct level *x = a, *y = b;

	if (x->process != y->process)
		return x->process < y->process ? -1 : 1;
	if (x->heap != y->heap)
		return x->heap < y->heap ? -1 : 1;
	return x->time < y->time ? -1 : x->time > y->time;
}

static uint64_t end_of(const struct firefox *firefox, uint64_t process)
{
	uint64_t ended = process < firefox->processes_capacity ? firefox->processes[process].ended
							       : 0;

	return firefox_time(firefox, ended ? ended : UINT64_MAX);
}

/* Of a heap, from `first` to before `next`: what is unknown is what it was, up to the end. */
static int complete(struct firefox *firefox, size_t first, size_t next)
{
	struct level last;

	for (size_t i = first + 1; i < next; i++) {
		struct level *level = &firefox->levels[i];

		if (!level->used && !level->exact)
			level->used = level[-1].used;
		if (!level->rss)
			level->rss = level[-1].rss;
		if (!level->committed)
			level->committed = level[-1].committed;
		/* Counters that only grow may be slightly out of order. */
		if (level->allocated < level[-1].allocated)
			level->allocated = level[-1].allocated;
	}
	last = firefox->levels[next - 1];
	last.time = end_of(firefox, last.process);
	if (last.time <= firefox->levels[next - 1].time)
		return 0;
	if (array_reserve(&firefox->levels, &firefox->levels_capacity, firefox->n_levels,
			  sizeof(last)) < 0)
		return -ENOMEM;
	firefox->levels[firefox->n_levels++] = last;
	return 0;
}

static void sort(struct firefox *firefox)
{
	if (firefox->n_levels)
		qsort(firefox->levels, firefox->n_levels, sizeof(*firefox->levels), by_heap);
}

size_t firefox_heap_end(const struct firefox *firefox, size_t first)
{
	const struct level *level = &firefox->levels[first];
	size_t next = first;

	while (next < firefox->n_levels && firefox->levels[next].process == level->process &&
	       firefox->levels[next].heap == level->heap)
		next++;
	return next;
}

int firefox_levels(struct firefox *firefox)
{
	size_t count, next;
	int error = 0;

	for (size_t i = 1; i < firefox->n_gcs && !error; i++)
		error = add_gc(firefox, &firefox->gcs[i]);
	for (size_t i = 1; i < firefox->n_marks && !error; i++)
		if (firefox->marks[i].kind == MARK_CYCLE)
			error = add_cycle(firefox, &firefox->marks[i]);
	sort(firefox);
	count = firefox->n_levels;
	for (size_t i = 0; i < count && !error; i = next) {
		next = firefox_heap_end(firefox, i);
		next = next < count ? next : count;
		error = complete(firefox, i, next);
	}
	sort(firefox);
	for (size_t i = firefox->n_levels; i--;)
		firefox->processes[firefox->levels[i].process].first_level = i;
	return error;
}
