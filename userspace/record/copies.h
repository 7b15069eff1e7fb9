/* SPDX-License-Identifier: BSD-2-Clause */
/* copies.h: walks copies of stacks that the kernel side took, with the files that were mapped. */
#ifndef GCPROF_COPIES_H
#define GCPROF_COPIES_H

#include "modules.h"
#include "processes.h"
#include "../symbols/stack_unwind.h"

struct copies;

/* `modules` is borrowed. */
int copies_create(struct modules *modules, struct copies **out);
void copies_free(struct copies *copies); /* NULL is allowed */

/* Walks a stack of the process as it is mapped now. The result is valid until the next walk. */
const struct stack_walk *copies_walk(struct copies *copies, const struct process *process,
				     const struct event_copy *copy, const void *bytes);

#endif
