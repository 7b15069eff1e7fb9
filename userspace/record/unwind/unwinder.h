/* SPDX-License-Identifier: BSD-2-Clause */
/* unwinder.h: keeps the kernel's unwind tables in step with the mappings of traced processes. */
/*
 * A thread compiles rows and writes tables, so that neither the program's start nor the draining of
 * rings waits for it. Only one other thread may add notes for it.
 */
#ifndef GCPROF_UNWINDER_H
#define GCPROF_UNWINDER_H

#include <stddef.h>
#include <stdint.h>

#include "../kernel/unwind_maps.h"
#include "../world/files.h"
#include "../world/processes.h"
#include "../world/world.h"
#include "unwind_modules.h"

struct unwinder;

/* Both are borrowed. Compiles rows of expected files from now on, for the maps that the kernel side
 * will have. */
int unwinder_create(struct files *files, struct processes *processes, struct unwinder **out);

/* Sets the maps (borrowed). To be called before anything but unwinder_expect() and
 * unwinder_flush(). */
int unwinder_connect(struct unwinder *unwinder, const struct unwind_fds *fds);

/* Waits until all expected files have their rows, at most `ns`. */
void unwinder_settle(struct unwinder *unwinder, uint64_t ns);

/* The thread and its reader keep their initial priority until this call. */
void unwinder_calm(struct unwinder *unwinder);

/* No more stacks will be walked: drops pending work. */
void unwinder_abandon(struct unwinder *unwinder);

/* Ends the thread, whatever is pending. NULL is allowed, here and below. */
void unwinder_free(struct unwinder *unwinder);

/* A file (id) that will probably be mapped: compiles its rows now. */
void unwinder_expect(struct unwinder *unwinder, uint32_t file);

/* Collects changes of processes, which take effect together on unwinder_flush(). */
void unwinder_subscribe(struct unwinder *unwinder, struct world *world);
void unwinder_flush(struct unwinder *unwinder);

/* The mappings of a process changed, or one of its files became known (ahead.h). */
void unwinder_remap(struct unwinder *unwinder, struct process *process);

/* Files without rows, mappings beyond the size of a table, and lost notes. */
uint64_t unwinder_refused(struct unwinder *unwinder);

/* Mapping tables of processes for the kernel side. */

struct unwind_spaces;

/* Both are borrowed. */
int unwind_spaces_create(struct unwind_maps *maps, struct unwind_modules *modules,
			 struct unwind_spaces **out);
void unwind_spaces_free(struct unwind_spaces *spaces); /* NULL is allowed */

/*
 * Sets the mappings of a process at `time`, and since when its program runs. Changes the mappings.
 * -ENOMEM.
 */
int unwind_spaces_map(struct unwind_spaces *spaces, uint64_t time, uint32_t pid, uint64_t since,
		      struct mapping *all, size_t n);

/* A child shares its parent's table. -ENOMEM. */
int unwind_spaces_fork(struct unwind_spaces *spaces, uint64_t time, uint32_t pid, uint32_t parent);
void unwind_spaces_exit(struct unwind_spaces *spaces, uint64_t time, uint32_t pid);

/* Mappings that did not fit into a table, and tables that could not be written. */
uint64_t unwind_spaces_refused(const struct unwind_spaces *spaces);

#endif
