/* SPDX-License-Identifier: BSD-2-Clause */
/* stacks.h: turns the tail of an event into a stack of the profile. */
#ifndef GCPROF_STACKS_H
#define GCPROF_STACKS_H

#include "cross_check.h"
#include "../world/files.h"
#include "../world/processes.h"
#include "stack_keys.h"
#include "../../../bpf/events.h"

struct stacks;

/* All are borrowed. */
int stacks_create(struct profile_writer *writer, struct processes *processes, struct files *files,
		  struct stacks **out);
void stacks_free(struct stacks *stacks); /* NULL is allowed */

/* Stacks that are put after this time (CLOCK_MONOTONIC, ns; 0: never) have only what was walked
 * before: their dumps wait for no reader. Returns the time before. */
uint64_t stacks_walk_until(struct stacks *stacks, uint64_t time);

/* A stack as it is stored. */
struct stored_stack {
	uint64_t id;      /* 0: an empty one */
	uint32_t quality; /* enum stack_quality */
	bool dump_short;  /* it is cut where the dump of it ends */
};

/* What a stack is put on, and whose managed frames it has. */
struct stack_base {
	uint64_t below;   /* a stack that was written before; 0: none */
	uint8_t provider; /* of the managed frames */
	bool cut;         /* code that is in no file, and its callers, are left out */
};

/*
 * Writes the stack, outermost frame first: user frames, with the managed ones at
 * their places among them, then the kernel's; `base->below` is a stack that was written
 * before, on top of which it is what the thread called since, or 0. A stack that
 * was copied is walked first. -EBADMSG if the counts are beyond their bounds or the tail's `size`
 * bytes; -ENOMEM.
 */
int stacks_put(struct stacks *stacks, struct process *process, const struct stack_base *base,
	       const struct event_stack *counts, struct bytes tail, struct stored_stack *out);

/* Writes a stack whose frames a provider knows, the innermost first. 0: no memory. */
uint64_t stacks_put_known(struct stacks *stacks, struct process *process, uint8_t provider,
			  const struct gcprof_frame *frames, size_t n);

/* Receives a segment and its key; its frames are gone afterwards. */
typedef int stacks_visit(void *context, uint64_t key, const struct stack_segment *segment);

/*
 * Cuts the stack that was put last into segments, as the program reported their limits,
 * the outermost first; those that can stand for themselves are visited. -EBADMSG
 * if the limits make no sense; -ENOMEM; what a visit returns if it is not 0.
 */
int stacks_cut(struct stacks *stacks, struct process *process, const struct gcprof_piece *pieces,
	       size_t n, stacks_visit *visit, void *context);

/* How stacks that were both walked and copied agree. */
const struct cross_check *stacks_cross_check(const struct stacks *stacks);

#endif
