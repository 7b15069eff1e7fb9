/* SPDX-License-Identifier: BSD-2-Clause */
/* stacks.h: turns the tail of an event into a stack of the profile. */
#ifndef GCPROF_STACKS_H
#define GCPROF_STACKS_H

#include "../world/files.h"
#include "../world/processes.h"
#include "stack_keys.h"
#include "../../../bpf/events.h"

struct stacks;
struct runtime_facts;

/* All are borrowed. */
int stacks_create(struct profile_writer *writer, struct processes *processes, struct files *files,
		  struct stacks **out);
void stacks_free(struct stacks *stacks); /* NULL is allowed */

/* Stacks put after this time (CLOCK_MONOTONIC ns; 0: no limit) do not wait for a reader to unwind
 * their dumps, and have only what was walked before. Returns the previous time. */
uint64_t stacks_walk_until(struct stacks *stacks, uint64_t time);

/* A stack as stored. */
struct stored_stack {
	uint64_t id;      /* 0: an empty stack */
	uint32_t quality; /* enum stack_quality */
	bool dump_short;  /* truncated where its dump ends */
};

/* Properties of a stack that is to be put. */
struct stack_base {
	uint64_t below;   /* a stack written before, under this one; 0: none */
	uint8_t provider; /* of the managed frames */
	bool cut;         /* leave out code in no file, and its callers */
	bool sample;      /* of an allocation: leave out innermost frames of a runtime's own code */
};

/*
 * Writes a stack, outermost frame first: user frames with the managed ones among them, then the
 * kernel's; on top of the stack `base->below`, if any. Unwinds its dump first, if it has one.
 * -EBADMSG if the counts exceed their bounds or the tail's `size` bytes; -ENOMEM.
 */
int stacks_put(struct stacks *stacks, struct process *process, const struct stack_base *base,
	       const struct event_stack *counts, struct bytes tail, struct stored_stack *out);

/* Writes a stack that a provider passed, innermost frame first. 0: no memory. */
uint64_t stacks_put_known(struct stacks *stacks, struct process *process, uint8_t provider,
			  const struct gcprof_frame *frames, size_t n);

/* Receives a segment and its key; the frames are valid during the call. */
typedef int stacks_visit(void *context, uint64_t key, const struct stack_segment *segment);

/*
 * Cuts the stack put last into segments, outermost first, at the limits that the program reported.
 * Visits segments that can be used alone. -EBADMSG if the limits make no sense; -ENOMEM; or what a
 * visit returns if it is not 0.
 */
int stacks_cut(struct stacks *stacks, struct process *process, const struct gcprof_piece *pieces,
	       size_t n, stacks_visit *visit, void *context);

/* The number of innermost frames of a sample's stack in the runtime's own code: they are left out.
 * `places`: their link-time addresses, or encoded functions; 0: in another file. A stack without
 * other frames is left alone: 0. */
size_t stacks_own_frames(const struct runtime_facts *facts, const uint64_t *places, size_t count);

#endif
