/* SPDX-License-Identifier: BSD-2-Clause */
/* function_sums.h: sums over all stacks that contain a function. */
#ifndef GCPROF_FUNCTION_SUMS_H
#define GCPROF_FUNCTION_SUMS_H

#include <stdbool.h>

#include "../world/caused.h"
#include "../world/tree.h"

struct world;

struct sums {
	uint64_t cpu_samples, cpu_ns, syscall_ns, off_cpu_ns, faults, gc_faults;
	struct caused caused;
	struct tally bytes;
	struct share survived;
};

/* Sums of one row. Separate from the rows, because the walks write to nothing else. */
struct function_sums {
	uint32_t on_path; /* occurrences on the current path of the walk */
	uint8_t work;     /* enum work_kind that begins with it */
	uint8_t works;    /* bit set of the kinds of work it occurs in */
	bool starter;     /* starts threads, fibers or programs (library.h) */
	struct sums total, self;
	struct sums begun; /* of stacks that begin with it */
};

void sums_add_time(struct sums *sums, const struct tree *tree, const struct cost *cost);
void sums_add_life(struct sums *sums, const struct tree *tree, const struct cost *cost);

/*
 * Computes the sums of world->functions, whose rows and frames must exist. What begins with no
 * function is in the entry after the last row. 0 or -ENOMEM.
 */
int function_sums_make(struct world *world);

#endif
