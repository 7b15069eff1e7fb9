/* SPDX-License-Identifier: BSD-2-Clause */
/* places.h: turns firings of probed locations in runtimes' code into events, and pairs cycles. */
/*
 * The tables of runtimes (runtimes/runtime.h) say which event a place becomes. Pauses and cycles
 * consist of several places; those in progress are kept by process and heap, for a bounded number.
 * Not thread-safe.
 */
#ifndef GCPROF_PLACES_H
#define GCPROF_PLACES_H

#include <stdbool.h>
#include <stddef.h>

#include "../../../bpf/events.h"

struct places;
struct runtime_facts;

typedef void places_emit(void *context, const struct event_header *event, size_t size);

/* Who pays for a process. */
typedef uint32_t places_user(void *context, uint64_t process);

/* `user_of` NULL: all are one user's. -ENOMEM. */
int places_create(places_emit *emit, places_user *user_of, void *context, struct places **out);
void places_free(struct places *places); /* NULL is allowed */

/* A process mapped a file with this runtime; `header` is of any event of the process. -ENOMEM. */
int places_runtime(struct places *places, const struct event_header *header,
		   const struct runtime_facts *facts);

/* Emits the event of a place: 1 if it is a sample. -EBADMSG: nothing was emitted; -ENOMEM. */
int places_event(struct places *places, const struct event_place *event, size_t size);

/* The begin or end of a cycle, from a probe: emits the cycle at its end. -ENOENT: a cycle was lost,
 * since its end is missing or too many are in progress; -EBADMSG, -ENOMEM. */
int places_cycle(struct places *places, const struct event_gc_cycle *event, size_t size);

/* The process ended at `time` (ns), or executed another program: forgets what belongs to the old
 * program. Events of both programs may arrive before this or after it. Emits cycles in progress. */
void places_forget(struct places *places, uint32_t process, uint64_t time, bool ends);

/* To be called regularly: emits ended cycles. `now`: ns. */
void places_advance(struct places *places, uint64_t now);

/* The recording goes on after a pause: what programs counted meanwhile belongs to no sample. */
void places_resume(struct places *places);

/* The recording ends: emits unfinished cycles, and the ends of pauses in progress. */
void places_finish(struct places *places, uint64_t now);

#endif
