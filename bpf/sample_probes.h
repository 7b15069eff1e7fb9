/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/* sample_probes.h: probes that add to a sample: its type, its end, or an agent that follows it. */
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

#endif
