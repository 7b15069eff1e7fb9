/* SPDX-License-Identifier: BSD-2-Clause */
/* stack_unwind.h: unwinds a stack dump with libunwind, by the frame information of files. */
/*
 * Slow and, except for Go programs, independent of the other unwinders. Not thread-safe.
 */
#ifndef GCPROF_STACK_UNWIND_H
#define GCPROF_STACK_UNWIND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "frame_image.h"
#include "../../bpf/events.h"

struct stack_unwinder;

/* Mapped code: [start, end), and the difference to link-time addresses. */
struct stack_module {
	uint64_t start, end;
	uint64_t bias;
	struct frame_image *image;
};

/* Finds the module of an instruction; false if there is no readable one. */
typedef bool stack_find_module(void *context, uint64_t ip, struct stack_module *out);

struct stack_walk {
	struct event_native frames[STACK_DEPTH_MAX]; /* innermost first, as from the kernel */
	unsigned count;
	uint32_t quality; /* enum stack_quality, user bits */
	unsigned guessed; /* frames without frame information */
	bool cut_short;   /* it continued beyond the end of the dump */
};

int stack_unwinder_create(stack_find_module *find, void *context, struct stack_unwinder **out);
void stack_unwinder_free(struct stack_unwinder *unwinder); /* NULL is allowed */

/* The mappings have changed, or the next stack is of another process. */
void stack_unwinder_forget(struct stack_unwinder *unwinder);

/* Walks a stack dump, `size` bytes at `bytes`. Never fails: quality tells what is missing. */
void stack_unwinder_walk(struct stack_unwinder *unwinder, const struct event_copy *copy,
			 const void *bytes, struct stack_walk *out);

#endif
