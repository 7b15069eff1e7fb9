/* SPDX-License-Identifier: BSD-2-Clause */
/* places.h: makes events of what was reported at places in runtimes' code. */
/*
 * What the tables of runtimes (runtimes/runtime.h) say of a place decides which event it becomes.
 * Pauses and cycles take several places; what is known of those under way is kept by process and
 * heap, for a bounded number of them. Not thread-safe.
 */
#ifndef GCPROF_PLACES_H
#define GCPROF_PLACES_H

#include <stdbool.h>
#include <stddef.h>

#include "../../../bpf/events.h"

struct places;
struct runtime_facts;

typedef void places_emit(void *context, const struct event_header *event, size_t size);

int places_create(places_emit *emit, void *context, struct places **out); /* -ENOMEM */
void places_free(struct places *places);                                  /* NULL is allowed */

/* A process has mapped a file with this runtime; the header is of any event of it. -ENOMEM. */
int places_runtime(struct places *places, const struct event_header *header,
		   const struct runtime_facts *facts);

/* Emits what the place stands for: 1 if that is a sample. -EBADMSG: nothing; -ENOMEM. */
int places_event(struct places *places, const struct event_place *event, size_t size);

/* The process has ended at `time` (ns), or runs another program since then: forgets its runtime, in
 * the latter case unless it was mapped since. Cycles that are under way are emitted. */
void places_forget(struct places *places, uint32_t process, uint64_t time, bool ends);

/* To be called every now and then: emits cycles that have ended. `now`: ns. */
void places_advance(struct places *places, uint64_t now);

/* The recording ends now: cycles that are not over are emitted. */
void places_finish(struct places *places, uint64_t now);

#endif
