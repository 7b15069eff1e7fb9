/* SPDX-License-Identifier: BSD-2-Clause */
/* sites.h: where objects are allocated: one row for a function and its nearest callers. */
#ifndef GCPROF_SITES_H
#define GCPROF_SITES_H

#include <stdint.h>

#include "../rows.h"

struct world;

#define SITES_MAX 4096 /* rows by each measure, if there are more sites */

/*
 * The site of a stack that allocates: rows of the table of functions plus 1, the allocating one
 * first, without direct recursion; 0: no more.
 */
void sites_functions(const struct world *world, uint32_t stack, uint32_t functions[SITE_FUNCTIONS]);

/*
 * Rows into model->sites, most collection time first: of all sites, or of those that
 * are among the first SITES_MAX by collection time, by bytes, by what survived, was
 * promoted, then died, or is alive. After functions and types are named. 0 or -ENOMEM.
 */
int sites_finish(struct world *world);

#endif
