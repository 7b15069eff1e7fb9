/* SPDX-License-Identifier: BSD-2-Clause */
/* stacks.h: turns the tail of an event into a stack of the profile. */
#ifndef GCPROF_STACKS_H
#define GCPROF_STACKS_H

#include "processes.h"
#include "../../bpf/events.h"

struct stacks;

/* Both are borrowed. */
int stacks_create(struct profile_writer *writer, struct processes *processes, struct stacks **out);
void stacks_free(struct stacks *stacks); /* NULL is allowed */

/*
 * Writes the stack, outermost frame first: user frames, with the managed ones at
 * their places among them, then the kernel's. *id is 0 for an empty stack.
 * -EBADMSG if the counts are beyond their bounds or the tail's `size` bytes;
 * -ENOMEM.
 */
int stacks_put(struct stacks *stacks, struct process *process, const struct event_stack *counts,
	       struct bytes tail, uint64_t *id);

#endif
