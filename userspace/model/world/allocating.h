/* SPDX-License-Identifier: BSD-2-Clause */
/* allocating.h: finds the function that allocated, outside of the allocator's own functions. */
#ifndef GCPROF_ALLOCATING_H
#define GCPROF_ALLOCATING_H

#include "tree.h"

/*
 * Does the frame lie in code that its file announces as that of a collector or provider, such as
 * gcprof's? Names are the program's business: it may have functions with any.
 */
bool is_own_frame(const struct tree *tree, const struct frame *frame);

/* Is an inlined function one of those in gcprof's headers, which lie in the program's code? */
bool is_own_inline(const struct symbol_name *symbol);

/* Of a frame whose outermost function has this name. */
enum allocators allocators_of(const struct tree *tree, const struct frame *frame, const char *name);

/*
 * An allocation sample is taken in the allocator's slow path, which is not the function that a
 * reader looks for. The innermost native frames up to the outermost one in the code of a collector
 * or provider belong to the allocator; a few others may lie between. This returns the next frame,
 * managed or native: the allocator's caller. If all frames belong to the allocator, the outermost
 * one is returned. Frames must have functions.
 */
uint32_t allocating_caller(const struct tree *tree, uint32_t stack);

/*
 * The stack up to the function that allocated: the innermost one from the allocator's caller on
 * that is not a library's (library.h), or the allocator's caller if there is none.
 */
uint32_t allocating_stack(const struct tree *tree, uint32_t stack);

/*
 * Call after frames have functions and before allocating_stack(): finds the function that
 * allocated where a library's functions are inlined into it. 0 or -ENOMEM.
 */
int allocating_prepare(struct tree *tree);

#endif
