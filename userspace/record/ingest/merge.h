/* SPDX-License-Identifier: BSD-2-Clause */
/* merge.h: sorts events of several rings by time. */
/*
 * Events of one ring arrive nearly in order, those of different rings do not. The merger keeps
 * copies until the watermark, a time before which no more events are expected, has passed them.
 * Events that arrive even later are counted, and returned next.
 */
#ifndef GCPROF_MERGE_H
#define GCPROF_MERGE_H

#include "../../../bpf/events.h"

struct merge;

int merge_create(struct merge **out);
void merge_free(struct merge *merge); /* drops remaining events; NULL is allowed */

/* Copies an event. -ENOMEM drops it; -EBADMSG if header.size differs from `size` or is too
 * small. */
int merge_add(struct merge *merge, const struct event_header *event, size_t size);

/* Allows taking all events before the watermark, which never decreases. -ENOMEM. */
int merge_advance(struct merge *merge, uint64_t watermark);

/* Takes the next event by time; for equal times in order of arrival. NULL: none. Valid until the
 * next call. */
struct event_header *merge_next(struct merge *merge);

/* Events that may be taken. */
size_t merge_due(const struct merge *merge);

/* Events that arrived with a time before the watermark. */
uint64_t merge_late(const struct merge *merge);

/* Bytes of events held. */
size_t merge_held(const struct merge *merge);

#endif
