/* SPDX-License-Identifier: BSD-2-Clause */
/* causes.h: the objects that a pause processed, by stack and type. */
#ifndef GCPROF_CAUSES_H
#define GCPROF_CAUSES_H

#include <stddef.h>
#include <stdint.h>

#include "../rows.h"

struct causes;
struct world;

/* NULL: no memory. Not thread-safe. */
struct causes *causes_create(void);
void causes_free(struct causes *causes); /* NULL is allowed */

/*
 * Adds a sample with this cost and type: its bytes, and the part of them that the collection
 * kept. If there are many thousand stacks, only those with most bytes stay separate. 0 or
 * -ENOMEM.
 */
int causes_add(struct causes *causes, uint32_t cost, uint32_t type, double bytes, double kept);

/*
 * Fills `row` with the sites that have most kept bytes (or most allocated bytes, if nothing was
 * kept) and with the totals. Functions and types must have names. 0 or -ENOMEM.
 */
int causes_sites(const struct causes *causes, const struct world *world, struct model_pause *row);

#endif
