/* SPDX-License-Identifier: BSD-2-Clause */
/* timeline.c: sums over equal windows of time. */
#include "timeline.h"

#include <string.h>

static const uint64_t first_step = 1000000; /* ns */

void timeline_begin(struct timeline *timeline, uint64_t start)
{
	timeline->start = start;
	timeline->step_ns = first_step;
}

static uint64_t later(uint64_t earlier, uint64_t value)
{
	return value ? value : earlier;
}

void window_merge(struct window *into, const struct window *from)
{
	into->cpu_ns += from->cpu_ns;
	into->gc_cpu_ns += from->gc_cpu_ns;
	tally_merge(&into->alloc, &from->alloc);
	into->minor += from->minor;
	into->major += from->major;
	into->pause_ns += from->pause_ns;
	if (from->pause_max_ns > into->pause_max_ns)
		into->pause_max_ns = from->pause_max_ns;
	into->wait_ns += from->wait_ns;
	into->promoted_bytes += from->promoted_bytes;
	into->heap_bytes = later(into->heap_bytes, from->heap_bytes);
	into->live_bytes = later(into->live_bytes, from->live_bytes);
	into->rss_bytes = later(into->rss_bytes, from->rss_bytes);
	into->unfreed_bytes = later(into->unfreed_bytes, from->unfreed_bytes);
	into->syscalls += from->syscalls;
	into->syscall_ns += from->syscall_ns;
	into->traced_ns += from->traced_ns;
	into->lost += from->lost;
}

static void halve(struct timeline *timeline)
{
	struct window *windows = timeline->windows;

	for (size_t i = 0; i < TIMELINE_WINDOWS / 2; i++) {
		struct window merged = windows[2 * i];

		window_merge(&merged, &windows[2 * i + 1]);
		windows[i] = merged;
	}
	memset(windows + TIMELINE_WINDOWS / 2, 0, TIMELINE_WINDOWS / 2 * sizeof(*windows));
	timeline->count = (timeline->count + 1) / 2;
	timeline->step_ns *= 2;
}

struct window *timeline_at(struct timeline *timeline, uint64_t time)
{
	uint64_t offset = time > timeline->start ? time - timeline->start : 0;
	uint64_t index = offset / timeline->step_ns;

	/* Terminates: the windows cover all 64-bit time after enough doublings. */
	for (; index >= TIMELINE_WINDOWS; index = offset / timeline->step_ns)
		halve(timeline);
	if (index >= timeline->count)
		timeline->count = index + 1;
	return &timeline->windows[index];
}

/*
 * Spreads `ns` evenly over this span and adds the parts to `field` of the windows that it
 * overlaps.
 */
static void spread(struct timeline *timeline, uint64_t begin, uint64_t end, uint64_t ns,
		   size_t field)
{
	uint64_t from, done = 0;

	if (begin < timeline->start)
		begin = timeline->start;
	if (begin >= end)
		return;
	/* Reaches the last window first, so the window length does not change below. */
	timeline_at(timeline, end);
	from = begin;
	while (from < end) {
		uint64_t step = timeline->step_ns;
		uint64_t left = step - (from - timeline->start) % step;
		char *window = (char *)timeline_at(timeline, from);
		uint64_t share;

		from += end - from < left ? end - from : left;
		share = (uint64_t)((unsigned __int128)ns * (from - begin) / (end - begin));
		*(uint64_t *)(void *)(window + field) += share - done;
		done = share;
	}
}

/* The same for events that take all of the span. */
static void spread_all(struct timeline *timeline, uint64_t begin, uint64_t end, size_t field)
{
	uint64_t ns = begin < timeline->start ? end - timeline->start : end - begin;

	spread(timeline, begin, end, ns, field);
}

void timeline_pause(struct timeline *timeline, uint64_t begin, uint64_t end)
{
	spread_all(timeline, begin, end, offsetof(struct window, pause_ns));
}

void timeline_wait(struct timeline *timeline, uint64_t begin, uint64_t end)
{
	spread_all(timeline, begin, end, offsetof(struct window, wait_ns));
}

void timeline_call(struct timeline *timeline, uint64_t begin, uint64_t end)
{
	spread_all(timeline, begin, end, offsetof(struct window, syscall_ns));
}

void timeline_traced(struct timeline *timeline, uint64_t begin, uint64_t end)
{
	spread_all(timeline, begin, end, offsetof(struct window, traced_ns));
}

void timeline_cpu(struct timeline *timeline, uint64_t begin, uint64_t end, uint64_t ns)
{
	if (begin < end && end > timeline->start)
		spread(timeline, begin, end, ns, offsetof(struct window, cpu_ns));
	else
		timeline_at(timeline, end)->cpu_ns += ns;
}

void timeline_take_cpu_back(struct timeline *timeline, uint64_t end, uint64_t ns)
{
	size_t i = (size_t)(timeline_at(timeline, end) - timeline->windows) + 1;

	while (ns && i--) {
		struct window *window = &timeline->windows[i];
		const uint64_t part = window->cpu_ns < ns ? window->cpu_ns : ns;

		window->cpu_ns -= part;
		ns -= part;
	}
}
