/* SPDX-License-Identifier: BSD-2-Clause */
/* undo.h: restores what was written into programs if the recorder dies before it does so. */
/*
 * A list of changes, each with how it is undone, in a file without a name. A process of its own,
 * which nothing can make hang before that, has this file and outlives the recorder: when the
 * recorder's end of its socket closes, it undoes what is listed, and ends. It starts with the first
 * entry. Not thread-safe.
 */
#ifndef GCPROF_UNDO_H
#define GCPROF_UNDO_H

#include <stdint.h>

#include "opener_requests.h"

#define UNDO_MAX 8192 /* entries */

struct undo;

/* An entry of the list; 0: none. */
typedef uint32_t undo_slot;

/* An entry as it lies in the file. */
struct undo_row {
	uint64_t used; /* bool */
	struct opener_memory order;
};

/* -ENOMEM. */
int undo_create(struct undo **out);

/* What is listed is left to the process. NULL is allowed. */
void undo_free(struct undo *undo);

/*
 * Lists `order` in `slot`, which is 0 or has an earlier entry that this one replaces; NULL: removes
 * that. Call it before the change itself. If the entry cannot be listed, `slot` is 0. Waits some
 * milliseconds for the process to start, the first time.
 */
void undo_put(struct undo *undo, undo_slot *slot, const struct opener_memory *order);

#endif
