/* SPDX-License-Identifier: BSD-2-Clause */
/* allocating.h: which function allocated: the one outside of the allocator's own. */
#ifndef GCPROF_ALLOCATING_H
#define GCPROF_ALLOCATING_H

#include "tree.h"

/* Of our collector, or of the provider's library. */
bool is_allocators_name(const char *name);
enum allocators allocators_of(const char *name);

/*
 * An allocation sample is taken inside the allocator's slow path, which is not
 * the function that a reader looks for. The innermost native frames up to the
 * outermost one named gc_* or gcprof_* are the allocator's; a few functions of
 * other names may lie between. The next frame, managed or native, is the one that allocated.
 * If all frames are the allocator's, the outermost one is taken. Only once frames have functions.
 */
uint32_t allocating_stack(const struct tree *tree, uint32_t stack);

#endif
