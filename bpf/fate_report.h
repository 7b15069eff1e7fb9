/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/* fate_report.h: reports what became of followed objects, many in one record. */
#ifndef GCPROF_BPF_FATE_REPORT_H
#define GCPROF_BPF_FATE_REPORT_H

#include "ceiling.h"
#include "emit.h"

/* Emits the entries so far; the event stays in the scratch. */
static __always_inline int fates_flush(struct scratch *scratch)
{
	struct event_fate *event = (struct event_fate *)scratch->data;
	uint64_t count = opaque(event->count), size;

	event->count = 0;
	if (!count || count > GCPROF_FATE_MAX)
		return 0;
	size = sizeof(*event) + count * sizeof(event->entries[0]);
	event->header.size = size;
	event->count = count;
	if (!ceiling_share(&ring_alloc, event->header.process, size, event->header.time))
		loss_add(LOSS_ALLOC_SHARE, count);
	else if (bpf_ringbuf_output(&ring_alloc, event, size, emit_wakeup(&ring_alloc)))
		loss_add(LOSS_ALLOC_RING, count);
	event->count = 0;
	return 0;
}

static __always_inline void fates_report(struct scratch *scratch, const struct fate_object *object,
					 uint32_t outcome)
{
	struct event_fate *event = (struct event_fate *)scratch->data;
	struct gcprof_fate *entry;
	uint64_t at = opaque(event->count);

	if (at >= GCPROF_FATE_MAX)
		return;
	entry = &event->entries[at];
	entry->sample = object->number;
	entry->age = 0;
	entry->outcome = outcome;
	entry->collections = object->survived;
	event->count = at + 1;
	if (at + 1 == GCPROF_FATE_MAX)
		fates_flush(scratch);
}

#endif
