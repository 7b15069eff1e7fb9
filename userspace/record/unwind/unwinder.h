/* SPDX-License-Identifier: BSD-2-Clause */
/* unwinder.h: keeps the kernel's unwind tables in step with what the followed processes map. */
/*
 * A thread of its own compiles rows and writes tables, so that neither the
 * program's start nor the draining of rings waits for it. Notes may come from one
 * other thread.
 */
#ifndef GCPROF_UNWINDER_H
#define GCPROF_UNWINDER_H

#include <stdint.h>

#include "../kernel/unwind_maps.h"
#include "../world/files.h"
#include "../world/world.h"

struct unwinder;

/* Both are borrowed. Rows of files that are expected are made from now on, for the maps that the
 * kernel side will have. */
int unwinder_create(struct files *files, struct processes *processes, struct unwinder **out);

/* The maps are there: before anything but unwinder_expect() and unwinder_flush(). Borrowed. */
int unwinder_connect(struct unwinder *unwinder, const struct unwind_fds *fds);

/* Waits until all that was expected has its rows, for so many ns at most. */
void unwinder_settle(struct unwinder *unwinder, uint64_t ns);

/* The thread and its reader have the priority that they were made with until this is called. */
void unwinder_calm(struct unwinder *unwinder);

/* No stack will be walked any more: what is left to do is dropped. */
void unwinder_abandon(struct unwinder *unwinder);

/* Ends the thread, whatever is left to do. NULL is allowed, here and below: nothing happens. */
void unwinder_free(struct unwinder *unwinder);

/* A file that will probably be mapped (its id): its rows are made now. */
void unwinder_expect(struct unwinder *unwinder, uint32_t file);

/* Takes notes of processes, which are acted upon together, on unwinder_flush(). */
void unwinder_subscribe(struct unwinder *unwinder, struct world *world);
void unwinder_flush(struct unwinder *unwinder);

/* What a process has mapped has changed, or a file of it is known now (ahead.h). */
void unwinder_remap(struct unwinder *unwinder, struct process *process);

/* Files, or mappings beyond what a table holds, that have no rows; notes that were lost. */
uint64_t unwinder_refused(struct unwinder *unwinder);

#endif
