/* SPDX-License-Identifier: BSD-2-Clause */
/* flow_parts.h: the steps of an event between the rings and the store; flow.c takes them. */
/*
 * merge.c sorts events of several rings by time. Events of one ring arrive nearly in order, those
 * of different rings do not. The merger keeps copies until the watermark, a time before which no
 * more events are expected, has passed them. Events that arrive even later are counted, and
 * returned next.
 */
#ifndef GCPROF_FLOW_PARTS_H
#define GCPROF_FLOW_PARTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../../../bpf/events.h"
#include "../store/counters.h"
#include "../store/store.h"

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

/* Splits batches of samples. */

/* Receives one sample, or first the batch's stacks, as an event with its own time. */
typedef void batches_visit(void *context, const struct event_header *event, size_t size);

/* Counts of faulty samples; added to. */
struct batches_faults {
	uint64_t refused;  /* refused: a number was out of range */
	uint64_t misdated; /* with an impossible time; they get the batch's */
};

/*
 * Delivers the samples of a batch of `size` bytes in order. The program wrote them, so nothing is
 * trusted: -EBADMSG if there are fewer than it says. Leaves out samples from before the recording
 * `began` (ns), which the program kept for another recorder, but reports their stacks.
 */
int batches_split(const struct event_samples *batch, size_t size, uint64_t began,
		  struct batches_faults *faults, batches_visit *visit, void *context);

/*
 * untyped.c adds types that arrived later to their samples. A `typed` event and its sample wait
 * together for their turn in time order. The sample comes first and takes the type. If the type is
 * still there when its own event comes, it has no such sample. Not thread-safe.
 */

struct untyped;

int untyped_create(struct untyped **out);
void untyped_free(struct untyped *untyped); /* NULL is allowed */

/* An event begins to wait. -EEXIST: a second type; -EBADMSG; -ENOMEM. */
int untyped_meet(struct untyped *untyped, const struct event_header *event, size_t size);

/* An event is stored next: if it is a sample without a type, it gets the one that arrived. */
void untyped_resolve(struct untyped *untyped, struct event_header *event);

/* Did no sample take the type of this `typed` event? Drops it. */
bool untyped_is_left(struct untyped *untyped, const struct event_header *event);

/* Stores events in order while some wait for a reader to unwind their stack dumps. */

struct delayed;

/* Both are borrowed. -ENOMEM. */
int delayed_create(struct store *store, struct counters *counters, struct delayed **out);
void delayed_free(struct delayed *delayed); /* NULL is allowed */

/* Stores an event, or keeps a copy until those before it are stored. Errors as store_event(). */
int delayed_store(struct delayed *delayed, const struct event_header *event);

/*
 * Stores waiting events whose dumps were unwound. Waits for a reader, at most `ns`, since it is
 * faster than a round. Errors as store_event().
 */
int delayed_turn(struct delayed *delayed, uint64_t ns);

/* Is everything stored? */
bool delayed_is_empty(const struct delayed *delayed);

#endif
