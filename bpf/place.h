/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/* place.h: reports values at a location in a runtime's code, as its table describes. */
#ifndef GCPROF_BPF_PLACE_H
#define GCPROF_BPF_PLACE_H

#include "ceiling.h"
#include "fates.h"
#include "probe.h"
#include "stack.h"

/* May the process still emit this record of `n` events? If not, counts them as lost and releases
 * the scratch. Global: the verifier checks it once. */
__noinline int probe_shares(struct scratch *scratch, const struct task_state *state, uint32_t n)
{
	const struct event_header *header;
	uint64_t bytes;

	if (!scratch || !state)
		return 0;
	header = (const struct event_header *)scratch->data;
	bytes = scratch->size;
	/* Where shares count, the ring is half full, and other dumps are left out (copy.h). */
	if (config.copy_always && stack_is_copied(scratch))
		bytes += config.copy_bytes;
	if (ceiling_share(&ring_alloc, state->process, bytes, header->time))
		return 1;
	loss_add(LOSS_ALLOC_SHARE, n);
	scratch_drop(scratch);
	return 0;
}

/* A step from an operand to an argument; see enum probe_step_kind. */
static __always_inline uint64_t probe_step(const struct probe_step *step, uint64_t value,
					   struct place_room *room)
{
	uint64_t word = 0,
		 other = step->other < PROBE_ARGUMENTS ? room->event.values[step->other] : 0;
	uint32_t size = step->size;

	switch (step->kind) {
	case STEP_READ:
		if (size > sizeof(word) ||
		    bpf_probe_read_user(&word, size, (const void *)(value + step->offset)))
			room->registers.bad++;
		return word;
	case STEP_ADD:
		return value + other;
	case STEP_PLUS:
		return value + step->offset;
	case STEP_SHIFT:
		return value << (other & 63);
	default:
		return value;
	}
}

/* Global: the verifier checks it once. */
__noinline uint64_t probe_steps(const struct probe_argument *argument, uint64_t value,
				struct place_room *room)
{
	if (!argument || !room)
		return 0;
	for (uint32_t i = 0; i < PROBE_STEPS; i++) {
		if (argument->steps[i].kind == STEP_END || room->registers.bad)
			break;
		value = probe_step(&argument->steps[i], value, room);
	}
	return value;
}

/* Reads the arguments; unreadable ones become 0. Global, as above. */
__noinline int place_read(struct place_room *room, const struct probe_place *place)
{
	if (!room || !place)
		return 0;
	for (uint32_t i = 0; i < PROBE_ARGUMENTS; i++) {
		const struct probe_argument *argument = &place->arguments[i];
		uint64_t value;

		/* Of a place for outcomes, the first two say whether it counts. */
		if (i >= place->count ||
		    (i == FATE_CLASS && (place->flags & PLACE_FATES) &&
		     room->event.values[FATE_IS] != room->event.values[FATE_WANTED]))
			break;
		room->registers.bad = 0;
		value = probe_steps(argument, probe_operand(argument, &room->registers), room);
		if (room->registers.bad) {
			room->event.failed |= 1u << i;
			value = 0;
		}
		room->event.values[i] = value;
	}
	return 0;
}

static __always_inline uint64_t place_value(const struct scratch *scratch, uint32_t argument)
{
	return place_value_of((const struct event_place *)scratch->data, argument);
}

/* Is a text still to be reported for this value? Marks it as reported. */
static __always_inline bool place_is_new(struct scratch *scratch, const struct probe_firing *firing,
					 const struct place_text *text)
{
	/* The stack is full, and the registers are set only later. */
	struct place_seen *key = (struct place_seen *)&scratch->regs;

	_Static_assert(sizeof(*key) <= sizeof(scratch->regs), "it has room there");
	key->value = place_value(scratch, text->once);
	key->image = firing->state->image;
	key->process = firing->state->process;
	key->place = firing->place->runtime << 16 | firing->place->place;
	return text->once == PLACE_NO_TEXT ||
	       !bpf_map_update_elem(&places_seen, key, &firing->now, BPF_NOEXIST);
}

/* Appends `bytes` of a text without a terminator, padded to 8 bytes. Returns its length, or -1. */
static __always_inline int place_counted_text(struct scratch *scratch, uint64_t from,
					      uint64_t bytes)
{
	uint64_t length = opaque(bytes < NAME_BYTES_MAX ? bytes : NAME_BYTES_MAX - 1) &
			  (NAME_BYTES_MAX - 1);
	void *to = scratch_room(scratch, NAME_BYTES_MAX + 8);

	if (!to || !length || bpf_probe_read_user(to, length, (const void *)from))
		return -1;
	return scratch_append_text(scratch, length);
}

static __always_inline uint16_t place_text(struct scratch *scratch,
					   const struct probe_firing *firing, uint32_t number)
{
	const struct place_text *text = &firing->place->texts[number];
	uint64_t from = place_value(scratch, text->address);
	int bytes;

	if (text->address == PLACE_NO_TEXT || !from || !place_is_new(scratch, firing, text))
		return 0;
	bytes = text->length == PLACE_NO_TEXT
			? scratch_string(scratch, (const void *)from, 1)
			: place_counted_text(scratch, from, place_value(scratch, text->length));
	if (bytes < 0)
		loss_count(LOSS_PROBE_MEMORY);
	return bytes < 0 ? 0 : bytes;
}

static __always_inline void place_fill(struct event_place *event, const struct probe_firing *firing)
{
	__builtin_memset(event, 0, sizeof(*event));
	emit_header(&event->header, EVENT_place, 0, firing->state, firing->now);
	event->header.provider = 0;
	event->runtime = firing->place->runtime;
	event->place = firing->place->place;
	_Static_assert(PLACE_VALUES == PROBE_ARGUMENTS, "all are reported");
}

/* A pause of the process begins or ends. */
static __always_inline void place_pause(const struct probe_firing *firing, uint32_t flags,
					uint64_t heap)
{
	if (flags & PLACE_PAUSES)
		process_gc_begin(firing->state, heap, firing->now, 0);
	if (flags & PLACE_RESUMES)
		process_gc_end(firing->state, heap, firing->now);
}

/* Emits a sample, with a stack if wanted. */
static __always_inline int place_emit_sample(const struct probe_firing *firing,
					     struct scratch *scratch, uint32_t flags)
{
	if (flags & PLACE_STACK) {
		process_gc_is_over(firing->state, firing->now);
		regs_user(firing->ctx, &scratch->regs);
		stack_user(scratch, firing->state);
		if (stack_is_copied(scratch))
			regs_user_rest(firing->ctx, &scratch->regs);
	}
	if (probe_shares(scratch, firing->state, 1))
		stack_emit(scratch, &ring_alloc, LOSS_ALLOC_RING);
	return 0;
}

/* Would a jbe jump? */
static __always_inline bool place_jumps(const struct place_room *room)
{
	enum { FLAGS = 18, CARRY = 1, ZERO = 64 };

	return room->registers.words[FLAGS] & (CARRY | ZERO);
}

static __always_inline int place_fired(const struct probe_firing *firing)
{
	uint32_t flags = firing->place->flags;
	struct scratch *scratch;
	struct event_place *event;

	if ((is_paused() && !(flags & PLACE_COLLECTOR)) ||
	    ((flags & PLACE_FATES) && !fates_wanted(firing)))
		return 0;
	scratch = probe_scratch();
	if (!scratch)
		return 0;
	event = (struct event_place *)scratch->data;
	place_fill(event, firing);
	if (bpf_probe_read_kernel(((struct place_room *)scratch->data)->registers.words,
				  sizeof(((struct probe_registers *)0)->words), firing->ctx)) {
		scratch_drop(scratch);
		return probe_refuse();
	}
	if ((flags & PLACE_JUMP) && place_jumps((struct place_room *)scratch->data)) {
		scratch_drop(scratch);
		return 0;
	}
	place_read((struct place_room *)scratch->data, firing->place);
	place_pause(firing, flags, event->values[0]);
	if (flags & PLACE_FATES)
		return fates_fired(firing, scratch);
	if (flags & (PLACE_COLLECTS | PLACE_COLLECTED))
		fates_collection(firing, flags);
	if (flags & PLACE_RESUMES) {
		event->rss_bytes = rss_bytes();
		event->recording = fates_take_spent(firing);
	}
	if ((flags & PLACE_COLLECTOR) && !ceiling_keeps(CEILING_GC, firing->now, LOSS_GC_CEILING)) {
		scratch_drop(scratch);
		return 0;
	}
	scratch->size = sizeof(*event);
	if (flags & PLACE_FOLLOWS)
		fates_follow(firing, event);
	event->text_size[0] = place_text(scratch, firing, 0);
	event->text_size[1] = place_text(scratch, firing, 1);
	if (!(flags & PLACE_COLLECTOR))
		return place_emit_sample(firing, scratch, flags);
	scratch_emit(scratch, &ring_gc, LOSS_GC_RING);
	return 0;
}

#endif
