/* SPDX-License-Identifier: BSD-2-Clause */
/* allocating.h: finds the function that allocated, outside of the allocator's own functions. */
#ifndef GCPROF_ALLOCATING_H
#define GCPROF_ALLOCATING_H

#include "tree.h"

/* Is it a function of gcprof's collector, or of the provider's library? */
bool is_allocators_name(const char *name);
enum allocators allocators_of(const char *name);

/*
 * An allocation sample is taken in the allocator's slow path, which is not the function that a
 * reader looks for. The innermost native frames up to the outermost one named gc_* or gcprof_*
 * belong to the allocator; a few functions with other names may lie between. The next frame,
 * managed or native, is the one that allocated. If all frames belong to the allocator, the
 * outermost one is returned. Frames must have functions.
 */
uint32_t allocating_stack(const struct tree *tree, uint32_t stack);

#endif
