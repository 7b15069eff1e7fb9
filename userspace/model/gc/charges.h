/* SPDX-License-Identifier: BSD-2-Clause */
/* charges.h: what collections cost, charged to stacks and types. README.md has the method. */
/*
 * Pauses and cycles are charged as they come, in their own time. How much CPU time a collector took
 * is known only at the end, since its functions have no names before: then the charges of each
 * process are scaled to that.
 */
#ifndef GCPROF_CHARGES_H
#define GCPROF_CHARGES_H

#include <stdint.h>

#include "../world/charging.h"

struct world;

/* The object that is charged. */
struct charged {
	uint32_t process, cost, type;
	uint32_t real; /* type, also where a filter leaves it out */
};

/* No memory: charges_finish() fails. */
void charges_add(struct world *world, const struct charged *who, enum charge_part part, double ns);

/*
 * Scales all charges, and sets what could be charged to none in model->gc. Without timer samples
 * the pauses are what is charged. 0 or -ENOMEM.
 */
int charges_finish(struct world *world);

#endif
