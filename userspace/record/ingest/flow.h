/* SPDX-License-Identifier: BSD-2-Clause */
/* flow.h: the way of an event: to what exists, into the order of time, to the store. */
/*
 * A time T is taken, then all rings are emptied. What happened before T is out by then, but for
 * programs that were interrupted between reading the clock and filling their record: events wait
 * for those a little longer. Any that come later still are counted as late. Not thread-safe; no
 * function reads the clock but flow_turn(), which may wait.
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
	uint64_t began; /* ns: what programs kept from before, for other recorders, is left out */
};

struct flow;
struct runtime_facts;

/* Subscribes to the world: mappings come from there. -ENOMEM. */
int flow_create(const struct flow_parts *parts, struct flow **out);
void flow_free(struct flow *flow); /* NULL is allowed */

/* An event as it lies in a ring; the context is the flow. */
void flow_event(void *context, const struct event_header *event, size_t size);

/* A process has mapped a file with a runtime. -ENOMEM. */
int flow_runtime(struct flow *flow, const struct event_mmap *event,
		 const struct runtime_facts *facts);

/* All rings were emptied after `now` (ns), 0: not yet. Finds processes whose begin was lost. */
void flow_settle(struct flow *flow, uint64_t now);

/*
 * Stores what is old enough at `now`, or a part of it: flow_is_behind() then. What happened after
 * `pending`, when a file was mapped that is still being read (UINT64_MAX: none is), waits for it:
 * not for ever, and only while that is not much. A negative errno: the profile cannot be written.
 */
int flow_advance(struct flow *flow, uint64_t now, uint64_t pending);

bool flow_is_behind(const struct flow *flow);

/*
 * From now on nothing is stored that happened after `time` (ns), which lies not before the last
 * flow_advance(); UINT64_MAX: everything is. Is all stored that happened until then?
 */
void flow_hold(struct flow *flow, uint64_t time);
bool flow_is_held(const struct flow *flow);

/* Does so much wait that it should not wait any longer? */
bool flow_is_full(const struct flow *flow);

/* Stores everything; cycles of collectors that are not over end `now`. */
int flow_finish(struct flow *flow, uint64_t now);

/* Stores what waited for walks of stack dumps, for which it waits for `ns` at most. */
int flow_turn(struct flow *flow, uint64_t ns);

/* Events that came too late to be put in order. */
uint64_t flow_late(const struct flow *flow);

#endif
