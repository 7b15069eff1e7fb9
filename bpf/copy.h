/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/* copy.h: emits a record together with a dump of the user stack. */
#ifndef GCPROF_COPY_H
#define GCPROF_COPY_H

#include "emit.h"

#define COPY_BELOW 128 /* red zone: bytes below rsp that belong to the innermost function */
#define COPY_STEPS (COPY_BYTES_MAX / PAGE_BYTES + 1)

/* Argument of the loop's callback. */
struct copy_loop {
	struct scratch *scratch;
	struct copy_room *room;
	uint64_t address;
};

/* Copies a page, or the wanted part of it. An unreadable page ends the dump. */
static long copy_step(uint32_t index, struct copy_loop *loop)
{
	struct scratch *scratch = loop->scratch;
	uint32_t done = scratch->copy_done;
	uint32_t left = scratch->copy_size - done;
	uint32_t at = scratch->size + done;
	uint64_t from = loop->address + done;
	uint64_t size = PAGE_BYTES - (from & (PAGE_BYTES - 1));

	size = opaque(size < left ? size : left);
	if (!size || size > PAGE_BYTES || at > sizeof(loop->room->data) - PAGE_BYTES)
		return 1;
	if (bpf_probe_read_user(loop->room->data + at, size, (const void *)from))
		return 1;
	scratch->copy_done = done + size;
	return 0;
}

/* Bytes of the stack to dump: nothing above its top at program start. */
static __always_inline uint32_t copy_wanted(uint64_t address)
{
	struct mm_struct *mm = BPF_CORE_READ(bpf_get_current_task_btf(), mm);
	uint64_t end = mm ? BPF_CORE_READ(mm, start_stack) + 16 : 0;

	if (address < end && end - address < config.copy_bytes)
		return (end - address) & ~7u;
	return config.copy_bytes;
}

/* A dump that only improves a stack must not displace other events. */
static __always_inline bool copy_affordable(void *ring)
{
	return config.copy_always || bpf_ringbuf_query(ring, BPF_RB_AVAIL_DATA) <
					     bpf_ringbuf_query(ring, BPF_RB_RING_SIZE) / 2;
}

/* Emits the scratch's record, followed by the stack dump, and releases the scratch. False if there
 * was no room; that is counted. */
static __always_inline bool copy_emit(struct scratch *scratch, struct event_stack *counts,
				      void *ring, uint32_t loss)
{
	uint32_t key = bpf_get_smp_processor_id() * SCRATCH_SLOTS + scratch->slot;
	struct copy_loop loop = {scratch, bpf_map_lookup_elem(&copy_rooms, &key),
				 (scratch->regs.sp & ~7ull) - COPY_BELOW};
	uint32_t at = scratch->size, size;
	struct event_copy *copy;
	bool full = 1;

	if (!loop.room || at > RECORD_BYTES_MAX || !copy_affordable(ring)) {
		return scratch_emit(scratch, ring, loss);
	}
	counts->quality |= STACK_COPIED;
	bpf_probe_read_kernel(loop.room->data, at, scratch->data);
	copy = (struct event_copy *)(loop.room->data + at);
	__builtin_memcpy(copy->registers, &scratch->regs, sizeof(copy->registers));
	copy->address = loop.address;
	copy->flags = scratch->copy_flags;
	scratch->size = at + sizeof(*copy);
	scratch->copy_size = copy_wanted(loop.address);
	scratch->copy_done = 0;
	bpf_loop(COPY_STEPS, copy_step, &loop, 0);
	copy->size = scratch->copy_done;
	if (!copy->size)
		loss_count(LOSS_STACK_COPY);
	size = scratch->size + scratch->copy_done;
	if (size <= sizeof(loop.room->data)) {
		((struct event_header *)loop.room->data)->size = size;
		full = bpf_ringbuf_output(ring, loop.room->data, size, emit_wakeup(ring)) != 0;
	}
	if (full)
		loss_count(loss);
	scratch_drop(scratch);
	return !full;
}

#endif
