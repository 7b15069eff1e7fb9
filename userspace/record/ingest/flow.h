/* SPDX-License-Identifier: BSD-2-Clause */
/* flow.h: the path of an event: to the world, into time order, to the store. */
/*
 * A time T is taken, then all rings are emptied. Events from before T are out by then, except those
 * of programs interrupted between reading the clock and submitting their record; events wait a
 * little longer for those. Later ones are counted as late. Not thread-safe. Only flow_turn() reads
 * the clock, and may wait.
 */
#ifndef GCPROF_FLOW_H
#define GCPROF_FLOW_H

#include "../store/counters.h"
#include "../store/store.h"
#include "../world/world.h"

/* All borrowed. */
struct flow_parts {
	struct processes *processes;
	struct world *world;
	struct store *store;
	struct counters *counters;
	uint64_t began; /* ns: earlier samples were kept for other recorders and are left out */
};

struct flow;
struct runtime_facts;

/* Subscribes to the world, which supplies mappings. -ENOMEM. */
int flow_create(const struct flow_parts *parts, struct flow **out);
void flow_free(struct flow *flow); /* NULL is allowed */

/* An event in a ring; the context is the flow. */
void flow_event(void *context, const struct event_header *event, size_t size);

/* A process mapped a file with a runtime. -ENOMEM. */
int flow_runtime(struct flow *flow, const struct event_mmap *event,
		 const struct runtime_facts *facts);

/* All rings were emptied after `now` (ns); 0: not yet. Looks up processes whose begin was lost. */
void flow_settle(struct flow *flow, uint64_t now);

/*
 * Stores events that are old enough at `now`, or a part of them: flow_is_behind() then. Events
 * after `pending`, the first mapping of a file that is still being read (UINT64_MAX: none), wait
 * for it, for limited time and up to a limited amount. A negative errno: the profile cannot be
 * written.
 */
int flow_advance(struct flow *flow, uint64_t now, uint64_t pending);

/* See places_resume(). */
void flow_resume(struct flow *flow);

bool flow_is_behind(const struct flow *flow);

/*
 * From now on, stores no events after `time` (ns), which is not before the last flow_advance();
 * UINT64_MAX: no limit. flow_is_held(): are all events up to then stored?
 */
void flow_hold(struct flow *flow, uint64_t time);
bool flow_is_held(const struct flow *flow);

/* Do too many events wait? */
bool flow_is_full(const struct flow *flow);

/* Stores everything; unfinished collector cycles end `now`. */
int flow_finish(struct flow *flow, uint64_t now);

/* Stores events that waited for their stack dumps; waits for these at most `ns`. */
int flow_turn(struct flow *flow, uint64_t ns);

/* Events that came too late to be sorted. */
uint64_t flow_late(const struct flow *flow);

#endif
