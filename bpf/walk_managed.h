/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/* walk_managed.h: one step of a walk up a thread's shadow stack. */
/*
 * gc/provider/frame.h defines what is read, walk_native.h has walk_read(). Frames must be aligned,
 * must not overlap, and must lie above their callees, with one exception: the compiler may lay out
 * the frames of functions inlined into each other in any order. A few short steps back in a row are
 * therefore allowed. A walk that finds anything else is marked STACK_MANAGED_TORN and keeps the
 * frames so far.
 */
#ifndef GCPROF_WALK_MANAGED_H
#define GCPROF_WALK_MANAGED_H

#include "events.h"
#include "../gc/provider/frame.h"

#define WALK_BACK_BYTES 4096 /* below the highest frame so far */
#define WALK_BACK_STEPS 8    /* in a row */

struct walk_managed {
	uint64_t frame;   /* the current frame, 0: at the end */
	uint64_t last;    /* the previous frame, 0: none */
	uint64_t highest; /* of all previous frames */
	uint32_t back;    /* steps since the highest */
	uint32_t looked;  /* frames read */
	uint32_t count;   /* frames with a function returned */
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

/* May a frame at this address be the caller of the previous one? Counts steps back. */
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
 * Reads the current frame and goes to its caller: 1 if the frame belongs to a function, now in
 * *out; 0 if it holds roots only; -1 at the end, with the reason in `quality`.
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
