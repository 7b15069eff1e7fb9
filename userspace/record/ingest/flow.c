/* SPDX-License-Identifier: BSD-2-Clause */
/* flow.c: the path of an event: to the world, into time order, to the store. */
#include "flow.h"

#include <errno.h>
#include <stdlib.h>

#include "../world/joins.h"
#include "flow_parts.h"
#include "places.h"

#define SLACK_NS      UINT64_C(200000000)
#define ADVANCE_NS    UINT64_C(50000000) /* shortest interval between sorts */
#define PENDING_BYTES ((size_t)16 << 20)
#define PART_MIN      16384                /* events */
#define PENDING_NS    UINT64_C(2000000000) /* longest wait of events for a file */

struct flow {
	struct flow_parts parts;
	struct merge *merge;
	struct delayed *delayed;
	struct places *places;
	struct untyped *untyped;
	uint64_t next_advance;
	uint64_t hold; /* later events are not stored yet */
	bool held;     /* all events up to `hold` are stored */
};

/* From here on, parts of batches and mappings are events like any others. */
static void flow_add(void *context, const struct event_header *event, size_t size)
{
	struct flow *flow = context;
	int err;

	world_event(flow->parts.world, event, size);
	store_meet_event(flow->parts.store, event, size);
	err = untyped_meet(flow->untyped, event, size);
	if (!err)
		err = merge_add(flow->merge, event, size);
	if (err)
		counters_add_loss(flow->parts.counters,
				  err == -ENOMEM   ? LOSS_MEMORY
				  : err == -EEXIST ? LOSS_TYPED
						   : LOSS_BAD_EVENT,
				  err == -ENOMEM ? store_events_in(event) : 1);
}

static void split_samples(struct flow *flow, const struct event_header *event, size_t size)
{
	struct counters *counters = flow->parts.counters;
	struct batches_faults faults = {0};

	if (batches_split((const struct event_samples *)(const void *)event, size,
			  flow->parts.began, &faults, flow_add, flow))
		counters_add_loss(counters, LOSS_BAD_EVENT, 1);
	counters_add_loss(counters, LOSS_BATCH, faults.refused);
	counters_add_loss(counters, LOSS_BATCH_TIME, faults.misdated);
}

static void split_place(struct flow *flow, const struct event_header *event, size_t size)
{
	struct process *process = processes_find(flow->parts.processes, event->process);
	int err = places_event(flow->places, (const struct event_place *)(const void *)event, size);

	if (err > 0 && process)
		process->sampled++;
	if (err < 0)
		counters_add_loss(flow->parts.counters,
				  err == -ENOMEM ? LOSS_MEMORY : LOSS_BAD_EVENT, 1);
}

static void pair_cycle(struct flow *flow, const struct event_header *event, size_t size)
{
	int err = places_cycle(flow->places, (const struct event_gc_cycle *)(const void *)event,
			       size);

	if (err)
		counters_add_loss(flow->parts.counters,
				  err == -ENOMEM   ? LOSS_MEMORY
				  : err == -ENOENT ? LOSS_CYCLES
						   : LOSS_BAD_EVENT,
				  1);
}

int flow_runtime(struct flow *flow, const struct event_mmap *event,
		 const struct runtime_facts *facts)
{
	return places_runtime(flow->places, &event->header, facts);
}

/* Sums that begin before the recording belong to another recorder, which has the rest of them. */
static bool is_before(const struct flow *flow, const struct event_header *event, size_t size)
{
	const struct event_gc_summary *summary = (const void *)event;

	return event->code == EVENT_gc_summary && size >= sizeof(*summary) &&
	       summary->begin < flow->parts.began;
}

void flow_event(void *context, const struct event_header *event, size_t size)
{
	if (event->code == EVENT_samples)
		split_samples(context, event, size);
	else if (event->code == EVENT_place)
		split_place(context, event, size);
	else if (event->code == EVENT_gc_cycle)
		pair_cycle(context, event, size);
	else if (event->code == EVENT_replaced)
		world_event(((struct flow *)context)->parts.world, event, size);
	else if (event->code == EVENT_bytecode)
		store_meet_bytecode(((struct flow *)context)->parts.store, event, size);
	else if (!is_before(context, event, size))
		flow_add(context, event, size);
}

static void flow_mapping(void *context, const struct event_mmap *event, const char *path)
{
	(void)path;
	flow_add(context, &event->header, event->header.size);
}

static void flow_execs(void *context, struct process *process, uint64_t time)
{
	joins_exec(process, time);
	places_forget(((struct flow *)context)->places, (uint32_t)process->id, time, false);
}

static void flow_ends(void *context, const struct process *process)
{
	places_forget(((struct flow *)context)->places, (uint32_t)process->id, process->end, true);
}

static uint32_t flow_user(void *context, uint64_t id)
{
	const struct process *process =
		processes_find(((const struct flow *)context)->parts.processes, (uint32_t)id);

	return process ? process->user : USER_UNKNOWN;
}

int flow_create(const struct flow_parts *parts, struct flow **out)
{
	struct flow *flow = calloc(1, sizeof(*flow));
	struct world_subscriber subscriber = {
		.context = flow, .maps = flow_mapping, .execs = flow_execs, .ends = flow_ends};
	int err = flow ? merge_create(&flow->merge) : -ENOMEM;

	if (!err)
		err = places_create(flow_add, flow_user, flow, &flow->places);
	if (!err)
		err = untyped_create(&flow->untyped);
	if (!err)
		err = delayed_create(parts->store, parts->counters, &flow->delayed);
	if (err) {
		flow_free(flow);
		return err;
	}
	flow->parts = *parts;
	flow->hold = UINT64_MAX;
	world_subscribe(parts->world, &subscriber);
	*out = flow;
	return 0;
}

void flow_free(struct flow *flow)
{
	if (!flow)
		return;
	merge_free(flow->merge);
	delayed_free(flow->delayed);
	places_free(flow->places);
	untyped_free(flow->untyped);
	free(flow);
}

void flow_settle(struct flow *flow, uint64_t now)
{
	world_settle(flow->parts.world, now, flow_add, flow);
	counters_add_loss(flow->parts.counters, LOSS_MEMORY, world_lost(flow->parts.world));
}

/* Did a program take this sample for other recorders? */
static bool is_others(const struct flow *flow, const struct event_header *event)
{
	const struct process *process =
		event->code == EVENT_alloc && event->size >= sizeof(struct event_alloc) &&
				((const struct event_alloc *)(const void *)event)->batched
			? processes_find(flow->parts.processes, event->process)
			: NULL;

	return process && joins_leave_out(process, event->provider, event->time);
}

/* Stores the next `most` due events; returns the first error. */
static int store_due(struct flow *flow, size_t most)
{
	struct event_header *event;
	int result = 0;

	while (most-- && (event = merge_next(flow->merge))) {
		int err;

		if (event->code == EVENT_typed) {
			counters_add_loss(flow->parts.counters, LOSS_TYPED,
					  untyped_is_left(flow->untyped, event));
			continue;
		}
		untyped_resolve(flow->untyped, event);
		if (is_others(flow, event))
			continue;
		err = delayed_store(flow->delayed, event);
		if (err && !result)
			result = err;
	}
	return result;
}

/*
 * Stores a part of the due events, so that no turn takes long after many events had to wait. What
 * is kept stays within a few times the size of the rings, which lose events when a turn does take
 * long.
 */
static int store_part(struct flow *flow, uint64_t watermark)
{
	size_t part;
	int err;

	if (watermark > flow->hold) {
		watermark = flow->hold + 1;
		flow->held = true;
	}
	err = merge_advance(flow->merge, watermark);
	part = merge_due(flow->merge) / 4;
	return err ? err : store_due(flow, part > PART_MIN ? part : PART_MIN);
}

void flow_resume(struct flow *flow)
{
	places_resume(flow->places);
}

/* Rate-limited: any mapping on the machine causes a round, and programs that start make dozens. */
int flow_advance(struct flow *flow, uint64_t now, uint64_t pending)
{
	int err;

	if (now < flow->next_advance && !flow_is_behind(flow))
		return 0;
	flow->next_advance = now + ADVANCE_NS;
	places_advance(flow->places, now);
	if (pending < now - SLACK_NS) {
		err = store_part(flow, now - pending < PENDING_NS ? pending : now - PENDING_NS);
		if (err || flow_is_behind(flow) || merge_held(flow->merge) < PENDING_BYTES)
			return err;
	}
	return store_part(flow, now - SLACK_NS);
}

bool flow_is_behind(const struct flow *flow)
{
	return merge_due(flow->merge) > 0;
}

void flow_hold(struct flow *flow, uint64_t time)
{
	flow->hold = time;
	flow->held = false;
}

bool flow_is_held(const struct flow *flow)
{
	return flow->held && !flow_is_behind(flow) && delayed_is_empty(flow->delayed);
}

bool flow_is_full(const struct flow *flow)
{
	return merge_held(flow->merge) >= PENDING_BYTES;
}

int flow_finish(struct flow *flow, uint64_t now)
{
	int err;

	flow->hold = UINT64_MAX;
	places_finish(flow->places, now);
	err = merge_advance(flow->merge, UINT64_MAX);
	return err ? err : store_due(flow, SIZE_MAX);
}

int flow_turn(struct flow *flow, uint64_t ns)
{
	return delayed_turn(flow->delayed, ns);
}

uint64_t flow_late(const struct flow *flow)
{
	return merge_late(flow->merge);
}
