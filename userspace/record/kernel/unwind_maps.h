/* SPDX-License-Identifier: BSD-2-Clause */
/* unwind_maps.h: puts unwind rows and tables of mappings into the kernel's maps. */
/*
 * Used by one thread. Rows are written first, then the pages that lead to them,
 * then the tables that lead to those, and taken away in the opposite order, so
 * that the kernel side never follows a place that is not filled.
 */
#ifndef GCPROF_UNWIND_MAPS_H
#define GCPROF_UNWIND_MAPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../../symbols/unwind.h"
#include "../../../bpf/hotspot.h"
#include "../../../bpf/interpreters.h"
#include "../../../bpf/unwind_rows.h"

struct unwind_maps;

/* Descriptors of the maps, borrowed. */
struct unwind_fds {
	int of, tables, pages, rules, chunks, first_chunk, hotspot_files, interpreters;
};

int unwind_maps_create(const struct unwind_fds *fds, struct unwind_maps **out);
void unwind_maps_free(struct unwind_maps *maps); /* NULL is allowed; the kernel's maps stay */

/* Puts the rows of a file in: the first of its n_pages pages. -ENOSPC if they do not fit. */
int unwind_maps_add(struct unwind_maps *maps, const struct unwind_file *file, uint32_t *first);

/* True if the rules of the file may be more than there is room for: some of its rows lead to none
 * if it is added. */
bool unwind_maps_crowded(const struct unwind_maps *maps, const struct unwind_file *file);

/* The part of the room for rows that is free, from 0 to 1: of rules, chunks or pages, whatever is
 * the scarcest. */
double unwind_maps_room(const struct unwind_maps *maps);

/* Takes all pages of a file away again, and what only they used. */
void unwind_maps_remove(struct unwind_maps *maps, uint32_t first, size_t count);

/* Writes a table, and says which one a process has. */
int unwind_maps_put_table(struct unwind_maps *maps, uint32_t id, const struct unwind_table *table);
int unwind_maps_put_process(struct unwind_maps *maps, uint32_t pid, const struct unwind_of *of);
void unwind_maps_drop_table(struct unwind_maps *maps, uint32_t id);
void unwind_maps_drop_process(struct unwind_maps *maps, uint32_t pid);

/* The number for struct unwind_table of this layout, put in if it is new; 0: it is no Java virtual
 * machine's, or there are too many. */
uint32_t unwind_maps_hotspot(struct unwind_maps *maps, const struct hotspot_layout *layout);

/* A process has these interpreters. `fd`: of struct unwind_fds. */
int unwind_maps_put_interpreters(int fd, uint32_t pid, const struct interpreters *found);

/* Bytes of kernel memory that rows take now. */
size_t unwind_maps_bytes(const struct unwind_maps *maps);

#endif
