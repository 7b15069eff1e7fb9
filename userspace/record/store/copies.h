/* SPDX-License-Identifier: BSD-2-Clause */
/* copies.h: has stack dumps walked by a reader, with the files that were mapped. */
#ifndef GCPROF_COPIES_H
#define GCPROF_COPIES_H

#include "../world/modules.h"
#include "../world/processes.h"
#include "../../symbols/stack_unwind.h"

struct copies;

/* `modules` is borrowed. */
int copies_create(struct modules *modules, struct copies **out);
void copies_free(struct copies *copies); /* NULL is allowed */

/*
 * Walks a stack of the process as it is mapped now. -EAGAIN: the reader is at work; nothing
 * else may be asked before this, with the same arguments, has returned 0, or copies_skip() was
 * called. The result is valid until the next call. A stack that the reader failed on has no frames,
 * and says so.
 */
int copies_walk(struct copies *copies, const struct process *process, const struct event_copy *copy,
		const void *bytes, const struct stack_walk **out);

/* The stack that is being walked will be stored without. NULL is allowed. */
void copies_skip(struct copies *copies);

#endif
