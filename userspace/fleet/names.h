/* SPDX-License-Identifier: BSD-2-Clause */
/* names.h: private to rows.c: numbers of functions and stacks that are the same on all machines. */
#ifndef GCPROF_FLEET_NAMES_H
#define GCPROF_FLEET_NAMES_H

struct fleet_names;
struct world;
struct sqlite3;

/*
 * Hashes of all functions and stacks of a finished world, as functions of SQL: see fleet.def. Both
 * are borrowed as long as these are called. -ENOMEM.
 */
int fleet_names_create(const struct world *world, struct sqlite3 *connection,
		       struct fleet_names **out);
void fleet_names_free(struct fleet_names *names); /* NULL is allowed */

#endif
