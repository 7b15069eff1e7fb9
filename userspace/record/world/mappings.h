/* SPDX-License-Identifier: BSD-2-Clause */
/* mappings.h: what is mapped where in a process, as far as code may run there. */
/*
 * A table is shared by processes that were forked from each other until one of
 * them changes: hold one reference each, and hand in the place where it is held
 * whenever it may change.
 */
#ifndef GCPROF_MAPPINGS_H
#define GCPROF_MAPPINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct mapping {
	uint64_t start, end; /* addresses, end exclusive */
	uint64_t offset;     /* of `start` in the file */
	uint64_t module;     /* id in the profile */
	uint64_t time;       /* when it was mapped */
	uint32_t file;       /* id (file.h); 0: none that is known */
};

struct mappings;

/* What tables have in common that count together; one that is all zero is empty. */
struct mappings_pool {
	size_t used; /* mappings in all of them */
};

#define MAPPINGS_MAX    65536     /* in one process: as many as the kernel allows by default */
#define MAPPINGS_SHARE  1024      /* any process may have so many */
#define MAPPINGS_BUDGET (1 << 19) /* all tables of a pool together, beyond those shares */

/* May a table have so many? */
bool mappings_allow(const struct mappings_pool *pool, size_t n);

/* NULL stands for an empty table everywhere. */
struct mappings *mappings_share(struct mappings *mappings);
void mappings_release(struct mappings *mappings);

/*
 * Puts a mapping in and cuts away what it covers; if it has neither a module nor a file, nothing
 * known is there any more. A table belongs to the pool of its first mapping.
 * -ENOMEM or, where a table would have more than its share and three times what is left, -EOVERFLOW
 * leave the table as it was.
 */
int mappings_add(struct mappings **mappings, struct mappings_pool *pool,
		 const struct mapping *mapping);

/* Forgets what was mapped before `time`. -ENOMEM if it is shared and cannot be copied. */
int mappings_forget(struct mappings **mappings, uint64_t time);

/* All of them, by address; *count is how many there are. Valid until the table changes. */
const struct mapping *mappings_all(const struct mappings *mappings, size_t *count);

/* The mapping that holds `address`, or NULL; valid until the table changes. */
const struct mapping *mappings_find(const struct mappings *mappings, uint64_t address);

/* Is just this mapped already, whenever that was? */
bool mappings_have(const struct mappings *mappings, const struct mapping *wanted);

#endif
