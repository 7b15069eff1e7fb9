/* SPDX-License-Identifier: BSD-2-Clause */
/* nodes.h: which stacks a profile has defined: a frame, and the stack that called it. */
/*
 * A recorder looks up one node for each frame of each stack that is new, so this is one
 * table of entries that lie in a cache line each, unlike a general map. Not thread-safe.
 */
#ifndef GCPROF_NODES_H
#define GCPROF_NODES_H

#include <stdbool.h>
#include <stdint.h>

struct nodes;

int nodes_create(struct nodes **out);
void nodes_free(struct nodes *nodes); /* NULL is allowed */

/*
 * The id of the node, counted from 1; *added tells that it is new. A program may be called in
 * ways without end: beyond NODES_MAX all are forgotten, and those that come again get another id.
 * 0: no memory.
 */
uint64_t nodes_put(struct nodes *nodes, uint64_t parent, uint64_t frame, bool *added);

#define NODES_MAX (UINT32_C(1) << 18) /* 8 MiB */

#endif
