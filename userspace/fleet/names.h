/* SPDX-License-Identifier: BSD-2-Clause */
/* names.h: IDs of functions and stacks that are the same on all machines. */
#ifndef GCPROF_FLEET_NAMES_H
#define GCPROF_FLEET_NAMES_H

#include <stdint.h>

struct fleet_names;
struct world;
struct sqlite3;

/*
 * Hashes all functions and stacks of a finished world and registers the SQL functions of fleet.def.
 * `world` and `connection` are borrowed as long as these are called. 0 or -ENOMEM.
 */
int fleet_names_create(const struct world *world, struct sqlite3 *connection,
		       struct fleet_names **out);
void fleet_names_free(struct fleet_names *names); /* NULL is allowed */

/* ID of the stack that stands for costs without one: "(no stack)" or "(no samples)". */
uint64_t fleet_rest_stack(const char *name);

#endif
