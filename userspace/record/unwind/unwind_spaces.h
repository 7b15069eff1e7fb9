/* SPDX-License-Identifier: BSD-2-Clause */
/* unwind_spaces.h: mapping tables of processes for the kernel side. */
#ifndef GCPROF_UNWIND_SPACES_H
#define GCPROF_UNWIND_SPACES_H

#include <stddef.h>
#include <stdint.h>

#include "unwind_modules.h"
#include "../world/mappings.h"

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
