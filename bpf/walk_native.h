/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/* walk_native.h: one step of a walk up the frame pointers of a thread. */
/*
 * Compiled into the BPF object and into the tests. Whoever includes it first
 * declares
 *
 *	long walk_read(struct walk_window *window, void *to, uint32_t size, uint64_t from);
 *
 * which copies memory of the walked thread and returns 0, or an error. The
 * window belongs to the reader, see walk_read.h; it may be NULL.
 *
 * A function that keeps a frame pointer has this at it:
 *
 *	frame + 8   return address
 *	frame       the caller's frame pointer
 *
 * Nothing of that is trusted. A frame has to be aligned and to lie above the
 * previous one, so the walk ends even on memory made to mislead it, and it
 * never reads the same place twice. The outermost function is known by a frame
 * pointer or a return address of 0. All other ends are marked STACK_USER_END:
 * code without frame pointers, or a broken chain.
 */
#ifndef GCPROF_WALK_NATIVE_H
#define GCPROF_WALK_NATIVE_H

#include "events.h"

#define WALK_ADDRESS_MIN UINT64_C(0x1000)
#define WALK_ADDRESS_END (UINT64_C(1) << 56)

struct walk_native {
	uint64_t ip;      /* of the function that the walk is at */
	uint64_t frame;   /* its frame pointer */
	uint64_t floor;   /* no valid frame lies below */
	uint32_t count;   /* functions handed out */
	uint32_t quality; /* enum stack_quality, user bits */
};

/* Begins a walk with the registers of the thread. */
static inline void walk_native_begin(struct walk_native *walk, uint64_t ip, uint64_t sp,
				     uint64_t bp)
{
	walk->ip = ip;
	walk->frame = bp;
	walk->floor = sp;
	walk->count = 0;
	walk->quality = 0;
}

/* 1: the walk is at a function, which is now *out; 0: there is none. */
static inline int walk_native_get(struct walk_native *walk, struct event_native *out)
{
	if (walk->count == 0 && walk->ip < WALK_ADDRESS_MIN) {
		walk->quality |= STACK_USER_FAILED;
		return 0;
	}
	out->ip = walk->ip;
	out->frame = walk->frame;
	walk->count++;
	return 1;
}

/* Goes on to the caller: 1, or 0 at the end, whose manner is then in `quality`. */
static inline int walk_native_up(struct walk_native *walk, struct walk_window *window)
{
	uint64_t pair[2] = {0, 0};
	uint64_t frame = walk->frame;

	if (!frame)
		return 0;
	if (frame < walk->floor || frame % 8 || frame >= WALK_ADDRESS_END ||
	    walk_read(window, pair, sizeof(pair), frame)) {
		walk->quality |= STACK_USER_END;
		return 0;
	}
	if (!pair[1])
		return 0;
	if (pair[1] < WALK_ADDRESS_MIN || pair[1] >= WALK_ADDRESS_END) {
		walk->quality |= STACK_USER_END;
		return 0;
	}
	if (walk->count >= STACK_DEPTH_MAX) {
		walk->quality |= STACK_USER_CUT;
		return 0;
	}
	walk->floor = frame + sizeof(pair);
	walk->frame = pair[0];
	walk->ip = pair[1];
	return 1;
}

#endif
