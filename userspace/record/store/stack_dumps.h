/* SPDX-License-Identifier: BSD-2-Clause */
/* stack_dumps.h: has a reader unwind stack dumps, with the files that were mapped. */
#ifndef GCPROF_STACK_DUMPS_H
#define GCPROF_STACK_DUMPS_H

#include "../world/files.h"
#include "../world/processes.h"
#include "../../symbols/stack_unwind.h"

struct stack_dumps;

/* `files` is borrowed. */
int stack_dumps_create(struct files *files, struct stack_dumps **out);
void stack_dumps_free(struct stack_dumps *dumps); /* NULL is allowed */

/*
 * Unwinds a stack of the process, with its current mappings. -EAGAIN: the reader is at work; no
 * other stack may be requested before this call, with the same arguments, has returned 0, or
 * stack_dumps_skip() was called. The result is valid until the next call. A stack on which the
 * reader failed has no frames, and says so.
 */
int stack_dumps_walk(struct stack_dumps *dumps, const struct process *process,
		     const struct event_copy *copy, const void *bytes,
		     const struct stack_walk **out);

/* Cancels the pending stack, which will be stored without frames. NULL is allowed. */
void stack_dumps_skip(struct stack_dumps *dumps);

#endif
