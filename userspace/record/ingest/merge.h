/* SPDX-License-Identifier: BSD-2-Clause */
/* merge.h: puts events of several rings into the order of their times. */
/*
 * Events of one ring come nearly in order, those of different rings do not. The
 * merger keeps copies until the watermark has passed them: a time before which
 * no more events are expected. What comes later all the same is counted, and next.
 */
#ifndef GCPROF_MERGE_H
#define GCPROF_MERGE_H

#include "../../../bpf/events.h"

struct merge;

int merge_create(struct merge **out);
void merge_free(struct merge *merge); /* drops what is left; NULL is allowed */

/* Copies an event. -ENOMEM drops it; -EBADMSG if header.size is not `size` or too small. */
int merge_add(struct merge *merge, const struct event_header *event, size_t size);

/* Every event with a time before the watermark, which never goes back, may be taken. -ENOMEM. */
int merge_advance(struct merge *merge, uint64_t watermark);

/* Takes the next one in order of time, of equal times in the order in which they came; NULL: there
 * is none. The copy is the caller's until the next call. */
struct event_header *merge_next(struct merge *merge);

/* Events that may be taken. */
size_t merge_due(const struct merge *merge);

/* Events that came with a time before the watermark. */
uint64_t merge_late(const struct merge *merge);

/* Bytes of events held. */
size_t merge_held(const struct merge *merge);

#endif
