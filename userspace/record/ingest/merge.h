/* SPDX-License-Identifier: BSD-2-Clause */
/* merge.h: puts events of several rings into the order of their times. */
/*
 * Events of one ring come nearly in order, those of different rings do not. The
 * merger keeps copies until the watermark has passed them: a time before which
 * no more events are expected. What comes later all the same is handed on at
 * once, out of order, and counted.
 */
#ifndef GCPROF_MERGE_H
#define GCPROF_MERGE_H

#include "../../../bpf/events.h"

struct merge;

/* Receives events in order of time; of equal times in the order in which they came. */
typedef int merge_output(void *context, const struct event_header *event);

int merge_create(merge_output *output, void *context, struct merge **out);
void merge_free(struct merge *merge); /* drops what is left; NULL is allowed */

/* Copies an event. -ENOMEM drops it; -EBADMSG if header.size is not `size` or too small. A late
 * event goes to the output at once, whose error is returned. */
int merge_add(struct merge *merge, const struct event_header *event, size_t size);

/* Hands on every event with time < watermark; returns the first error of the output. */
int merge_advance(struct merge *merge, uint64_t watermark);

/* What comes with an earlier time is late. */
uint64_t merge_watermark(const struct merge *merge);

/* Events that came with a time before the watermark of an earlier merge_advance. */
uint64_t merge_late(const struct merge *merge);

/* Bytes of events held. */
size_t merge_held(const struct merge *merge);

#endif
