/* SPDX-License-Identifier: BSD-2-Clause */
/* spots.h: which of the program's own functions a stack belongs to, and what that called. */
#ifndef GCPROF_SPOTS_H
#define GCPROF_SPOTS_H

#include <stdbool.h>
#include <stdint.h>

struct pattern;
struct world;

struct spot {
	uint32_t function, caller;     /* 1 + indexes of world->functions.rows; 0: none */
	uint32_t callee;               /* that the function called first; 0: none */
	const struct pattern *pattern; /* that it called; NULL: none */
	bool collector, compiler;      /* it called one of these, or began without a function */
};

/* The way to the last stack. Stacks with common callers should follow each other. */
struct spot_walk;

/* Needs the functions, and the sums of these. NULL: no memory. */
struct spot_walk *spot_walk_create(const struct world *world);
void spot_walk_free(struct spot_walk *walk); /* NULL is allowed */

struct spot spot_walk_to(struct spot_walk *walk, uint32_t stack);

#endif
