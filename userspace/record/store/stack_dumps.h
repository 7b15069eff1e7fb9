/* SPDX-License-Identifier: BSD-2-Clause */
/* stack_dumps.h: has stack dumps walked by a reader, with the files that were mapped. */
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
 * Walks a stack of the process as it is mapped now. -EAGAIN: the reader is at work; nothing
 * else may be asked before this, with the same arguments, has returned 0, or stack_dumps_skip() was
 * called. The result is valid until the next call. A stack that the reader failed on has no frames,
 * and says so.
 */
int stack_dumps_walk(struct stack_dumps *dumps, const struct process *process,
		     const struct event_copy *copy, const void *bytes,
		     const struct stack_walk **out);

/* The stack that is being walked will be stored without. NULL is allowed. */
void stack_dumps_skip(struct stack_dumps *dumps);

#endif
