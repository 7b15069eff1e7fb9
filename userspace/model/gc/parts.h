/* SPDX-License-Identifier: BSD-2-Clause */
/* parts.h: the CPU time of the parts of collectors' work, by the stacks of timer samples. */
#ifndef GCPROF_MODEL_PARTS_H
#define GCPROF_MODEL_PARTS_H

#include <stddef.h>
#include <stdint.h>

struct map;
struct model_gc;
struct record_cpu;
struct world;

/* Timer samples with one stack that a filter leaves out. */
struct part_cost {
	uint64_t stack, samples, ns;
};

struct parts {
	struct part_cost *items;
	size_t count, capacity;
	struct map *index; /* stack -> number, from 1; NULL: none yet */
};

void parts_free(struct parts *parts);

/* Adds timer samples that the tree of stacks does not have. 0 or -ENOMEM. */
int parts_unselected(struct parts *parts, const struct record_cpu *record);

/* Sums all timer samples by part, in model->gc. Call when all names are known. 0 or -ENOMEM. */
int parts_finish(const struct parts *parts, struct world *world);

/*
 * The share of copying in the CPU time of young collections, from 0 to 1. It begins at a half,
 * which counts as much as 50 samples. Negative: no function of these parts is known.
 */
double parts_copying(const struct model_gc *gc);

#endif
