/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/* walk_managed.h: one step of a walk up the shadow stack of a thread. */
/*
 * See gc/provider/frame.h for what is read and walk_native.h for walk_read(). Frames
 * must be aligned, must not overlap, and lie above their callees, with one
 * exception: where functions were inlined into each other, the compiler may lay
 * their frames in any order within one native frame. So a few steps back in a
 * row, not far, are allowed. A walk that meets anything else is marked
 * STACK_MANAGED_TORN and keeps what it has.
 */
#ifndef GCPROF_WALK_MANAGED_H
#define GCPROF_WALK_MANAGED_H

#include "events.h"
#include "../gc/provider/frame.h"

#define WALK_BACK_BYTES 4096 /* below the highest frame so far */
#define WALK_BACK_STEPS 8    /* in a row */

struct walk_managed {
	uint64_t frame;   /* the frame that the walk is at, 0: at the end */
	uint64_t last;    /* the one before, 0: none */
	uint64_t highest; /* of all before */
	uint32_t back;    /* steps since the highest */
	uint32_t looked;  /* frames read */
	uint32_t count;   /* frames with a function, handed out */
	uint32_t quality; /* enum stack_quality, managed bits */
};

static inline void walk_managed_begin(struct walk_managed *walk, uint64_t anchor)
{
	struct gc_anchor top = {0};

	walk->last = 0;
	walk->highest = 0;
	walk->back = 0;
	walk->looked = 0;
	walk->count = 0;
	walk->quality = 0;
	if (anchor && walk_read(NULL, &top, sizeof(top), anchor))
		walk->quality = STACK_MANAGED_TORN;
	walk->frame = top.top;
}

/* May a frame at this address call the one before? Counts the steps back. */
static inline int walk_managed_follows(struct walk_managed *walk, uint64_t frame)
{
	uint64_t last = walk->last;
	uint64_t distance = frame > last ? frame - last : last - frame;

	if (frame % 8 || distance < sizeof(struct gc_frame))
		return 0;
	if (frame > walk->highest) {
		walk->highest = frame;
		walk->back = 0;
		return 1;
	}
	return walk->highest - frame <= WALK_BACK_BYTES && ++walk->back <= WALK_BACK_STEPS;
}

/*
 * Reads the frame that the walk is at and goes on to its caller: 1 if the frame
 * belongs to a function, which is now *out; 0 if it holds roots only; -1 at the
 * end, whose manner is then in `quality`.
 */
static inline int walk_managed_next(struct walk_managed *walk, struct walk_window *window,
				    struct event_managed *out)
{
	/* The part of struct gc_frame up to `pc`. */
	struct {
		uint64_t prev;
		uint32_t code, pc;
	} head = {0, 0, 0};
	uint64_t frame = walk->frame;

	if (!frame)
		return -1;
	if (walk->looked >= MANAGED_DEPTH_MAX) {
		walk->quality |= STACK_MANAGED_CUT;
		return -1;
	}
	if (!walk_managed_follows(walk, frame) || walk_read(window, &head, sizeof(head), frame)) {
		walk->quality |= STACK_MANAGED_TORN;
		return -1;
	}
	walk->looked++;
	walk->last = frame;
	walk->frame = head.prev;
	if (!head.code)
		return 0;
	out->address = frame;
	out->code = head.code;
	out->pc = head.pc;
	walk->count++;
	return 1;
}

#endif
