/* SPDX-License-Identifier: BSD-2-Clause */
/* unwind_modules.h: unwind rows of files in the kernel. */
#ifndef GCPROF_UNWIND_MODULES_H
#define GCPROF_UNWIND_MODULES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "../world/files.h"
#include "../kernel/unwind_maps.h"

struct unwind_modules;

/* A file with rows. Users that keep it hold a reference. */
struct unwind_module {
	uint32_t first, count; /* pages; none if it has no rows */
	uint64_t base;         /* link-time address of the first page */
	struct unwind_segment segments[UNWIND_SEGMENTS_MAX];
	size_t n_segments;
	uint32_t hotspot; /* number of its layout for struct unwind_table */
	uint32_t user;    /* for whom it counts */
	bool is_denied;   /* it has no rows, because that user had too many */
	double room;      /* its share of the kernel's room for rows */
	unsigned references;
	bool goes;       /* is being dropped */
	uint64_t unused; /* begin of the time without references, ns */
	uint64_t rows_hash[2];
	struct unwind_module *next;
};

/* Both are borrowed; only files_open() is called on `files`. Without `maps`, only
 * unwind_modules_expect() may be called until unwind_modules_connect(). */
int unwind_modules_create(struct unwind_maps *maps, struct files *files,
			  struct unwind_modules **out);

/* The reader process keeps the caller's priority until this call. */
void unwind_modules_calm(struct unwind_modules *modules);

/* Sets the maps, if they were missing. */
void unwind_modules_connect(struct unwind_modules *modules, struct unwind_maps *maps);
void unwind_modules_free(struct unwind_modules *modules); /* NULL is allowed */

/* A file will probably be mapped: compiles its rows now, and puts them into the maps as soon as
 * these exist. */
void unwind_modules_expect(struct unwind_modules *modules, uint32_t file);

/*
 * The module of a file (its id); compiles its rows if it is new. NULL if the file is not open (yet)
 * or was evicted, or there is no memory. Without a reference it stays until the next
 * unwind_modules_sweep().
 */
struct unwind_module *unwind_modules_find(struct unwind_modules *modules, uint32_t file);

/* Stops reading files; for another thread, when the reading one is to end. */
void unwind_modules_abandon(struct unwind_modules *modules);

void unwind_module_hold(struct unwind_module *module);
void unwind_module_release(struct unwind_module *module, uint64_t now);

/* Drops modules without a reference since `before`. */
void unwind_modules_sweep(struct unwind_modules *modules, uint64_t before);

/* Are there so many files that unused ones should be dropped soon? */
bool unwind_modules_crowded(const struct unwind_modules *modules);

/* Number of files that got no rows. */
uint64_t unwind_modules_refused(const struct unwind_modules *modules);

#endif
