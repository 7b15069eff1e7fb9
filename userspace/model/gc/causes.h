/* SPDX-License-Identifier: BSD-2-Clause */
/* causes.h: what was allocated for a pause to deal with, by stack and type. */
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
 * Bytes of a sample with this cost and type: allocated, and of those what the collection
 * kept. Of many thousand stacks only those with most bytes stay apart. 0 or -ENOMEM.
 */
int causes_add(struct causes *causes, uint32_t cost, uint32_t type, double bytes, double kept);

/*
 * The sites with most bytes kept (allocated, where nothing was kept), and the sums over all of
 * them, into `row`. Once functions and types have names. 0 or -ENOMEM.
 */
int causes_sites(const struct causes *causes, const struct world *world, struct model_pause *row);

#endif
