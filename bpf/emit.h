/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/* emit.h: puts records into rings, and counts those that do not fit. */
#ifndef GCPROF_EMIT_H
#define GCPROF_EMIT_H

#include "filter.h"

/* For where a call would be felt. */
static __always_inline void loss_add_here(uint32_t loss, uint32_t n)
{
	uint64_t *count = bpf_map_lookup_elem(&losses, &loss);

	if (count)
		__sync_fetch_and_add(count, n);
}

__noinline int loss_add(uint32_t loss, uint32_t n)
{
	loss_add_here(loss, n);
	return 0;
}

static __always_inline void loss_count(uint32_t loss)
{
	loss_add(loss, 1);
}

/*
 * The recorder polls the rings several times a second. It is woken only when a ring fills so fast
 * that polling may be too late.
 */
static __always_inline uint64_t emit_wakeup(void *ring)
{
	uint64_t used = bpf_ringbuf_query(ring, BPF_RB_AVAIL_DATA);

	return used >= bpf_ringbuf_query(ring, BPF_RB_RING_SIZE) / 4 ? BPF_RB_FORCE_WAKEUP
								     : BPF_RB_NO_WAKEUP;
}

static __always_inline void emit_header(struct event_header *header, uint8_t code, uint32_t size,
					const struct task_state *state, uint64_t now)
{
	uint64_t id = bpf_get_current_pid_tgid();

	header->size = size;
	header->code = code;
	header->provider = state->provider;
	header->cpu = bpf_get_smp_processor_id();
	header->time = now;
	header->pid = id >> 32;
	header->tid = (uint32_t)id;
	header->process = state->process;
	header->fiber = 0;
}

/* Reserves a record of fixed size in a ring. NULL if there is no room; counted as `loss`. */
#define EMIT_RESERVE(ring, type, loss) \
	((struct type *)emit_reserve(&(ring), sizeof(struct type), (loss)))

static __always_inline void *emit_reserve(void *ring, const uint64_t size, uint32_t loss)
{
	void *record = bpf_ringbuf_reserve(ring, size, 0);

	if (!record)
		loss_count(loss);
	return record;
}

/* Submits a reserved record. */
static __always_inline void emit_submit(void *record, void *ring)
{
	bpf_ringbuf_submit(record, emit_wakeup(ring));
}

/* Takes one of the first `slots` scratches of this CPU. Returns its index, or SCRATCH_SLOTS if all
 * are in use, which is counted. Not inlined: otherwise the verifier would check the caller once per
 * slot. */
__noinline uint32_t scratch_take_slot(uint32_t slots)
{
	for (uint32_t slot = 0; slot < SCRATCH_SLOTS; slot++) {
		uint32_t key = slot;
		struct scratch *scratch = bpf_map_lookup_elem(&scratches, &key);

		if (slot < slots && scratch &&
		    __sync_val_compare_and_swap(&scratch->busy, 0, 1) == 0)
			return slot;
	}
	loss_count(LOSS_SCRATCH_BUSY);
	return SCRATCH_SLOTS;
}

/* Returns such a scratch, emptied; NULL if there is none, which is counted. */
static __always_inline struct scratch *scratch_take_of(const uint32_t slots)
{
	uint32_t slot = scratch_take_slot(slots);
	struct scratch *scratch = bpf_map_lookup_elem(&scratches, &slot);

	if (!scratch)
		return NULL;
	scratch->size = 0;
	scratch->slot = slot;
	scratch->copying = 0;
	return scratch;
}

static __always_inline struct scratch *scratch_take(void)
{
	return scratch_take_of(SCRATCH_SLOTS);
}

static __always_inline void scratch_drop(struct scratch *scratch)
{
	*(volatile uint32_t *)&scratch->busy = 0;
}

/* Emits the scratch's record of `n` events and releases the scratch. False if there was no room;
 * that is counted. (The size check is for the verifier.) */
static __always_inline bool scratch_emit_many(struct scratch *scratch, void *ring, uint32_t loss,
					      uint32_t n)
{
	uint32_t size = scratch->size;
	bool full = 1;

	if (size <= sizeof(scratch->data)) {
		((struct event_header *)scratch->data)->size = size;
		full = bpf_ringbuf_output(ring, scratch->data, size, emit_wakeup(ring)) != 0;
	}
	if (full)
		loss_add(loss, n);
	scratch_drop(scratch);
	return !full;
}

static __always_inline bool scratch_emit(struct scratch *scratch, void *ring, uint32_t loss)
{
	return scratch_emit_many(scratch, ring, loss, 1);
}

/* Where `bytes` more can be appended to the scratch's record, a constant; NULL if there is no room.
 */
static __always_inline void *scratch_room(struct scratch *scratch, const uint32_t bytes)
{
	uint64_t at = opaque(scratch->size);

	return at <= sizeof(scratch->data) - bytes ? scratch->data + at : NULL;
}

/* The `bytes` that were written there belong to the record; pads it with zeroes to 8 bytes. */
static __always_inline int scratch_append_text(struct scratch *scratch, uint32_t bytes)
{
	uint64_t *end;

	scratch->size += bytes;
	end = scratch_room(scratch, sizeof(*end));
	if (!end)
		return -1;
	__builtin_memset(end, 0, sizeof(*end));
	scratch->size = (scratch->size + 7) & ~7u;
	return (int)bytes;
}

/*
 * Appends a string from user or kernel memory, padded with zeroes to 8 bytes. Returns its length
 * without the final zero, or -1 if it could not be read; nothing is appended then.
 */
static __always_inline int scratch_string(struct scratch *scratch, const void *from, bool user)
{
	void *to = scratch_room(scratch, NAME_BYTES_MAX + 8);
	long bytes;

	if (!to)
		return -1;
	bytes = user ? bpf_probe_read_user_str(to, NAME_BYTES_MAX, from)
		     : bpf_probe_read_kernel_str(to, NAME_BYTES_MAX, from);
	return bytes > 0 ? scratch_append_text(scratch, bytes - 1) : -1;
}

#endif
