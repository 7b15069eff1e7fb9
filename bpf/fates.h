/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/* fates.h: follows sampled objects through the collections of a runtime without our probes. */
/*
 * A copying collector leaves in the header of each copied object where it is now. When it has
 * copied and the program is still stopped, the old header of a sampled object says whether that
 * has survived, and where it is. The runtime's table says at which places that can be read, and
 * how (`struct fate_rule`).
 *
 * - A collection whose outcomes were not read moves objects unnoticed. All are lost then; what
 *   became of them is unknown, and none counts as dead.
 * - The class of an object is compared with that at its new address.
 * - New and old objects are in two lists. A collection of new objects does not read the old ones.
 * - A full list replaces a random object by the new one.
 * - If this takes more than a hundredth of the process's CPU time, the lists become shorter.
 */
#ifndef GCPROF_BPF_FATES_H
#define GCPROF_BPF_FATES_H

#include "ceiling.h"
#include "fate.h"
#include "probe.h"

#define FATES_PART    100        /* 1 / FATES_PART of the process's CPU time may be spent here */
#define FATES_MUCH_NS 1000000000 /* of that time is enough to judge */
#define FATES_MOST_NS 5000000    /* at one place: other threads wait for this CPU meanwhile */
#define FATES_CHECK   64         /* objects between two looks at the clock; a power of two */

/* For bpf_loop(). */
struct fate_context {
	struct fate_table *table;
	struct scratch *scratch; /* with the event_fate that is being assembled */
};

static __always_inline uint32_t fates_end(const struct fate_table *table)
{
	uint32_t most = table->filled > table->limit ? table->filled : table->limit;

	return table->count[FATES_NEW] < most ? table->count[FATES_NEW] : most;
}

/* --- samples ------------------------------------------------------------------------------ */

/* Follows an object that was just allocated. Returns its number; 0: it is not followed. Global, as
 * all that has much to verify. */
__noinline uint32_t fates_add(struct fate_table *table, uint64_t address, uint32_t class,
			      uint32_t *replaced)
{
	struct fate_object *object;
	uint32_t slot, number;

	if (!table || !replaced || table->closed || table->stale || (table->over && !table->known))
		return 0;
	slot = __sync_fetch_and_add(&table->count[FATES_NEW], 1);
	if (slot >= table->limit)
		slot = bpf_get_prandom_u32() % (slot + 1);
	if (slot >= table->limit)
		return 0;
	object = &table->objects[FATES_NEW][opaque(slot) & (FATE_OBJECTS_MAX - 1)];
	if (table->count[FATES_NEW] > table->limit) {
		*replaced = __sync_lock_test_and_set(&object->number, 0);
		if (!*replaced)
			return 0;
	}
	number = __sync_fetch_and_add(&table->numbers, 1) + 1;
	object->address = address;
	object->class = class;
	object->survived = 0;
	__sync_lock_test_and_set(&object->number, number);
	return number;
}

static __always_inline void fates_follow(const struct probe_firing *firing,
					 struct event_place *event)
{
	struct fate_table *table = fates_of(firing->state);
	uint32_t replaced = 0;

	if (!table)
		return;
	event->number = fates_add(table, place_value_of(event, firing->place->object),
				  (uint32_t)place_value_of(event, firing->place->class), &replaced);
	event->replaced = replaced;
}

/* --- all objects -------------------------------------------------------------------------- */

static __always_inline void fate_keep(struct fate_table *table, uint32_t list, uint32_t at,
				      const struct fate_object *object)
{
	table->objects[list][opaque(at) & (FATE_OBJECTS_MAX - 1)] = *object;
}

/* Adds it to the old ones, for a random one if they are too many. */
static __always_inline void fate_promote(struct fate_context *context,
					 const struct fate_object *object)
{
	struct fate_table *table = context->table;
	uint32_t at = table->count[FATES_OLD];

	if (at < table->limit) {
		table->count[FATES_OLD] = at + 1;
	} else {
		at = bpf_get_prandom_u32() % (at + 1);
		if (at >= table->count[FATES_OLD]) {
			fates_report(context->scratch, object, GCPROF_REPLACED);
			return;
		}
		fates_report(context->scratch,
			     &table->objects[FATES_OLD][opaque(at) & (FATE_OBJECTS_MAX - 1)],
			     GCPROF_REPLACED);
	}
	fate_keep(table, FATES_OLD, at, object);
}

static long fate_next(uint32_t number, struct fate_context *context)
{
	struct fate_table *table = context->table;
	struct fate_object *object =
		&table->objects[table->list & 1][opaque(number) & (FATE_OBJECTS_MAX - 1)];
	uint64_t bad = 0;
	uint32_t turn;

	if (!(number & (FATES_CHECK - 1)) && bpf_ktime_get_ns() - table->began > FATES_MOST_NS)
		table->failed = 1;
	turn = fate_of(table, object);
	if (turn & FATE_AGES)
		object->survived++;
	if ((turn & FATE_STAYS) && table->list == FATES_OLD && table->thins &&
	    (bpf_get_prandom_u32() & 1))
		turn = GCPROF_REPLACED;
	if (turn & 255)
		fates_report(context->scratch, object, turn & 255);
	if (turn & FATE_LOST)
		fates_report(context->scratch, object, GCPROF_UNKNOWN);
	if (!(turn & FATE_STAYS))
		return 0;
	if (table->list == FATES_NEW && table->rule.mode != FATES_MARKED &&
	    fate_is_old(table, object->address, &bad))
		fate_promote(context, object);
	else
		fate_keep(table, table->list & 1, table->kept++, object);
	return 0;
}

static __always_inline void fates_read(struct fate_context *context, uint32_t list, uint32_t count)
{
	struct fate_table *table = context->table;

	table->list = list;
	table->kept = 0;
	bpf_loop(count < FATE_OBJECTS_MAX ? count : FATE_OBJECTS_MAX, fate_next, context, 0);
	table->count[list] = table->kept;
}

/* Reads all objects that the place may be about. Global: the verifier checks it once. */
__noinline int fates_turn(struct fate_table *table, struct scratch *scratch)
{
	struct fate_context context = {table, scratch};
	uint32_t mode;

	if (!table || !scratch)
		return 0;
	mode = table->rule.mode;
	if (mode != FATES_COPIED || table->mixed || table->stale) {
		fates_read(&context, FATES_OLD, table->count[FATES_OLD]);
		table->thins = 0;
	}
	fates_read(&context, FATES_NEW, fates_end(table));
	table->filled = table->count[FATES_NEW];
	fates_flush(scratch);
	table->stale = 0;
	table->marked = mode == FATES_MARKED;
	/* After marking, objects are still to be moved. Where regions are freed, that is known of a
	 * collection only if its place is of no other collection. */
	table->known |= mode != FATES_MARKED && (mode != FATES_FREED || table->values[FATE_WANTED]);
	return 0;
}

/* The time that this took; if it is too much, half of the objects are enough. */
static __always_inline void fates_spent(struct fate_table *table, const struct probe_firing *firing)
{
	uint64_t now = bpf_ktime_get_ns(), ns = now - firing->now, ran = now;
	uint32_t index = firing->state->process;
	struct process_state *process = bpf_map_lookup_elem(&processes, &index);

	if (config.timers && process)
		ran = process->ran;
	table->pause_ns += ns;
	table->spent_ns += ns;
	if (table->ran && ran - table->ran < FATES_MUCH_NS)
		return;
	if (table->ran && table->spent_ns > (ran - table->ran) / FATES_PART &&
	    table->limit > FATE_OBJECTS_MIN) {
		table->limit /= 2;
		table->thins = 1;
	}
	table->spent_ns = 0;
	table->ran = ran;
}

/* Must outcomes be read at this place? Several places are at the same address, where each
 * collection comes several times. */
static __always_inline bool fates_wanted(const struct probe_firing *firing)
{
	const struct fate_table *table = fates_of(firing->state);
	uint32_t mode = firing->place->fates.mode;

	return table && !table->closed &&
	       (!table->known || mode == FATES_MIXED || mode == FATES_FREED);
}

/* Global, as above. Bits of `failed`: arguments that could not be read. */
__noinline int fates_begin(struct fate_table *table, const struct probe_place *place,
			   const struct place_room *room)
{
	if (!table || !place || !room || table->closed ||
	    room->event.values[FATE_IS] != room->event.values[FATE_WANTED] || room->event.failed)
		return 0;
	if (place->fates.mode == FATES_MIXED) {
		table->mixed = 1;
		return 0;
	}
	if (table->known && (place->fates.mode != FATES_FREED || room->event.values[FATE_WANTED]))
		return 0;
	table->rule = place->fates;
	for (uint32_t i = 0; i < FATE_ARGUMENTS; i++)
		table->values[i] = room->event.values[i];
	table->failed = 0;
	table->began = bpf_ktime_get_ns();
	if (table->rule.area == FATES_RANGE) {
		table->values[FATE_SIZE] <<= table->values[FATE_WORD] & 63;
		table->failed = table->rule.mode == FATES_COPIED &&
				table->values[FATE_TOP] != table->values[FATE_BOTTOM];
	}
	return 1;
}

/* A place at which outcomes can be read. Its arguments are in the scratch, which is released. */
static __always_inline int fates_fired(const struct probe_firing *firing, struct scratch *scratch)
{
	struct fate_table *table = fates_of(firing->state);
	struct event_fate *event = (struct event_fate *)scratch->data;

	if (table && fates_begin(table, firing->place, (struct place_room *)scratch->data)) {
		emit_header(&event->header, EVENT_fate, 0, firing->state, firing->now);
		event->header.provider = 0;
		event->count = event->reserved = 0;
		fates_turn(table, scratch);
		fates_spent(table, firing);
	}
	scratch_drop(scratch);
	return 0;
}

/* A collection, or a part of it, begins or ends. */
static __always_inline void fates_collection(const struct probe_firing *firing, uint32_t flags)
{
	struct fate_table *table = fates_of(firing->state);

	if (!table)
		return;
	if (flags & PLACE_COLLECTED)
		table->over = 1;
	if (!(flags & PLACE_COLLECTS) || !table->over)
		return;
	table->stale |= !table->known;
	table->over = table->known = table->mixed = table->marked = 0;
}

/* The pause ends: what was spent here is not the program's. */
static __always_inline uint32_t fates_take_spent(const struct probe_firing *firing)
{
	struct fate_table *table = fates_of(firing->state);
	uint32_t ns = table ? table->pause_ns : 0;

	if (table)
		table->pause_ns = 0;
	return ns;
}

/* An agent follows the samples of the process. */
static __always_inline void fates_close(const struct task_state *state)
{
	struct fate_table *table = fates_of(state);

	if (table)
		table->closed = 1;
}

#endif
