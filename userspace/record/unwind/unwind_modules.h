/* SPDX-License-Identifier: BSD-2-Clause */
/* unwind_modules.h: the unwind rows that files have in the kernel. */
#ifndef GCPROF_UNWIND_MODULES_H
#define GCPROF_UNWIND_MODULES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "../world/files.h"
#include "../kernel/unwind_maps.h"

struct unwind_modules;

/* A file with rows. A user that keeps one holds a reference. */
struct unwind_module {
	uint32_t first, count; /* pages; none if it has no rows */
	uint64_t base;         /* as the linker knows the first page */
	struct unwind_segment segments[UNWIND_SEGMENTS_MAX];
	size_t n_segments;
	uint32_t hotspot; /* number of its layout, see struct unwind_table */
	uid_t user;       /* the owner of the file */
	double room;      /* that its rows take in the kernel, as a part of all */
	unsigned references;
	bool goes;               /* it is being swept */
	uint64_t unused;         /* since when it has no reference, ns */
	uint64_t fingerprint[2]; /* of the rows */
	struct unwind_module *next;
};

/* Both are borrowed; of `files` only files_open() is called. */
int unwind_modules_create(struct unwind_maps *maps, struct files *files,
			  struct unwind_modules **out);
void unwind_modules_free(struct unwind_modules *modules); /* NULL is allowed */

/*
 * The module of a file (its id); its rows are compiled if it is new. NULL if it is not open (yet),
 * was forgotten, or there is no memory. Without a reference it stays until the next
 * unwind_modules_sweep().
 */
struct unwind_module *unwind_modules_find(struct unwind_modules *modules, uint32_t file);

/* From now on no file is read: for another thread, when the one that reads is to end. */
void unwind_modules_abandon(struct unwind_modules *modules);

void unwind_module_hold(struct unwind_module *module);
void unwind_module_release(struct unwind_module *module, uint64_t now);

/* Drops what has had no reference since `before`. */
void unwind_modules_sweep(struct unwind_modules *modules, uint64_t before);

/* Are there so many files that those which are not used should go soon? */
bool unwind_modules_crowded(const struct unwind_modules *modules);

/* Files so far that got no rows. */
uint64_t unwind_modules_refused(const struct unwind_modules *modules);

#endif
