/* SPDX-License-Identifier: BSD-2-Clause */
/* mappings.h: a process's mappings that may contain code. */
/*
 * Forked processes share a table until one of them changes it. Each holds one reference, and passes
 * the address of that reference whenever the table may change.
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
	uint32_t file;       /* id (file.h); 0: none known */
};

struct mappings;

/* Common budget of several tables; empty if all zero. */
struct mappings_pool {
	size_t used; /* mappings in all tables */
};

#define MAPPINGS_MAX    65536     /* per process: the kernel's default limit */
#define MAPPINGS_SHARE  1024      /* always allowed, per process */
#define MAPPINGS_BUDGET (1 << 19) /* for all tables of a pool, beyond those shares */

/* May a table have this many? */
bool mappings_allow(const struct mappings_pool *pool, size_t n);

/* NULL stands for an empty table everywhere. */
struct mappings *mappings_share(struct mappings *mappings);
void mappings_release(struct mappings *mappings);

/*
 * Adds a mapping and removes what it covers. A mapping without module and file just removes. A
 * table belongs to the pool of its first mapping. -ENOMEM; -EOVERFLOW: the table would exceed its
 * share and three times the remaining budget. The table is unchanged then.
 */
int mappings_add(struct mappings **mappings, struct mappings_pool *pool,
		 const struct mapping *mapping);

/* Removes what was mapped before `time`. -ENOMEM if the table is shared and cannot be copied. */
int mappings_forget(struct mappings **mappings, uint64_t time);

/* All mappings, by address; *count is their number. Valid until the table changes. */
const struct mapping *mappings_all(const struct mappings *mappings, size_t *count);

/* The mapping that contains `address`, or NULL; valid until the table changes. */
const struct mapping *mappings_find(const struct mappings *mappings, uint64_t address);

/* Is exactly this mapped already, at any time? */
bool mappings_have(const struct mappings *mappings, const struct mapping *wanted);

#endif
