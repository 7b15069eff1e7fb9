/* SPDX-License-Identifier: BSD-2-Clause */
/* nodes.h: the stacks that a profile has defined: a frame, and the stack that called it. */
/*
 * A recorder looks up one node per frame of each new stack. Unlike a general map, this is a single
 * table whose entries fit in a cache line. Not thread-safe.
 */
#ifndef GCPROF_NODES_H
#define GCPROF_NODES_H

#include <stdbool.h>
#include <stdint.h>

struct nodes;

int nodes_create(struct nodes **out);
void nodes_free(struct nodes *nodes); /* NULL is allowed */

/*
 * The id of the node, counted from 1; sets *added if it is new. The number of call paths is
 * unbounded: beyond NODES_MAX all nodes are forgotten, and recurring ones get new ids. 0: no
 * memory.
 */
uint64_t nodes_put(struct nodes *nodes, uint64_t parent, uint64_t frame, bool *added);

#define NODES_MAX (UINT32_C(1) << 18) /* 8 MiB */

#endif
