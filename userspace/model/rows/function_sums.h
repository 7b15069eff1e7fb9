/* SPDX-License-Identifier: BSD-2-Clause */
/* function_sums.h: what all stacks that a function is on add up to. */
#ifndef GCPROF_FUNCTION_SUMS_H
#define GCPROF_FUNCTION_SUMS_H

#include "../world/tree.h"

struct world;

struct sums {
	uint64_t cpu_samples, cpu_ns, syscall_ns, off_cpu_ns, faults, gc_faults;
	double gc_ns;
	struct tally bytes;
	struct share survived;
};

/* What a row adds up to. Apart from the rows, since this is all that walks write to. */
struct function_sums {
	uint32_t on_path; /* how often it is on the path that the walk is at */
	uint8_t work;     /* enum work_kind that begins with it */
	uint8_t works;    /* in which it was met: a bit each */
	struct sums total, self;
};

void sums_add_time(struct sums *sums, const struct tree *tree, const struct cost *cost);
void sums_add_life(struct sums *sums, const struct stack_life *life);

/* Makes the sums of world->functions, whose rows and frames are there. 0 or -ENOMEM. */
int function_sums_make(struct world *world);

#endif
