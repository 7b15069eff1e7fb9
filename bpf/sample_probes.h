/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/* sample_probes.h: the probes that are short: parts of samples, cycles, names of collections. */
#ifndef GCPROF_SAMPLE_PROBES_H
#define GCPROF_SAMPLE_PROBES_H

#include "ceiling.h"
#include "fates.h"
#include "probe.h"

/* Reserves a small record in the allocation ring. NULL if there is no room; that is counted. */
static __always_inline void *alloc_reserve(const struct probe_firing *firing, const uint64_t size)
{
	if (ceiling_share(&ring_alloc, firing->state->process, size, firing->now))
		return emit_reserve(&ring_alloc, size, LOSS_ALLOC_RING);
	loss_count(LOSS_ALLOC_SHARE);
	return NULL;
}

static __always_inline int probe_typed(const struct probe_firing *firing)
{
	struct event_typed *event;
	uint64_t sample, type;

	sample = firing->values[0];
	type = firing->values[1];
	if (!sample || !type)
		return probe_refuse();
	event = alloc_reserve(firing, sizeof(*event));
	if (!event)
		return 0;
	probe_header(firing, &event->header, EVENT_typed, sizeof(*event));
	event->sample = sample;
	event->type = type;
	event->since = firing->state->image;
	emit_submit(event, &ring_alloc);
	return 0;
}

static __always_inline int probe_freed(const struct probe_firing *firing)
{
	struct event_freed *event;

	if (!firing->values[0])
		return probe_refuse();
	event = alloc_reserve(firing, sizeof(*event));
	if (!event)
		return 0;
	probe_header(firing, &event->header, EVENT_freed, sizeof(*event));
	event->address = firing->values[0];
	event->age = firing->values[1];
	event->outcome = GCPROF_FREED;
	event->is_heap = 0;
	emit_submit(event, &ring_alloc);
	return 0;
}

static __always_inline int probe_followed(const struct probe_firing *firing)
{
	struct event_followed *event;

	if (!firing->values[0])
		return probe_refuse();
	fates_close(firing->state);
	event = alloc_reserve(firing, sizeof(*event));
	if (!event)
		return 0;
	probe_header(firing, &event->header, EVENT_followed, sizeof(*event));
	event->sample = firing->values[0];
	emit_submit(event, &ring_alloc);
	return 0;
}

/* --- concurrent cycles, and names of kinds and reasons of collections --- */

/* Reserves the begin or end of a cycle, all zero but for its header. NULL: refused or lost, which
 * is counted. */
static __always_inline struct event_gc_cycle *cycle_reserve(const struct probe_firing *firing)
{
	struct event_gc_cycle *event;

	if (!firing->values[0]) {
		probe_refuse();
		return NULL;
	}
	if (!ceiling_keeps(CEILING_GC, firing->now, LOSS_GC_CEILING))
		return NULL;
	event = EMIT_RESERVE(ring_gc, event_gc_cycle, LOSS_GC_RING);
	if (!event)
		return NULL;
	__builtin_memset(event, 0, sizeof(*event));
	probe_header(firing, &event->header, EVENT_gc_cycle, sizeof(*event));
	event->heap = firing->values[0];
	event->cycle = firing->values[1];
	return event;
}

static __always_inline int probe_cycle_begin(const struct probe_firing *firing)
{
	struct event_gc_cycle *event;

	if (firing->values[2] >= GCPROF_GC_NAMES_END || firing->values[3] >= GCPROF_GC_NAMES_END)
		return probe_refuse();
	event = cycle_reserve(firing);
	if (!event)
		return 0;
	event->began = firing->now;
	event->name = firing->values[2];
	event->reason = firing->values[3];
	event->heap_before = firing->values[4];
	event->unfinished = 1;
	emit_submit(event, &ring_gc);
	return 0;
}

static __always_inline int probe_cycle_end(const struct probe_firing *firing)
{
	struct event_gc_cycle *event = cycle_reserve(firing);

	if (!event)
		return 0;
	event->heap_after = firing->values[2];
	event->live = firing->values[3];
	emit_submit(event, &ring_gc);
	return 0;
}

static __always_inline int probe_gc_name(const struct probe_firing *firing)
{
	uint64_t number = firing->values[0];
	struct scratch *scratch;

	if (number < GCPROF_GC_NAMES_FIRST || number >= GCPROF_GC_NAMES_END || !firing->values[1])
		return probe_refuse();
	if (!ceiling_keeps(CEILING_GC, firing->now, LOSS_GC_CEILING))
		return 0;
	scratch = name_scratch(firing, GCPROF_NAME_GC, 0, firing->values[1], 0);
	if (scratch)
		scratch_emit(scratch, &ring_gc, LOSS_GC_RING);
	return 0;
}

#endif
