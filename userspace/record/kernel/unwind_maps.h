/* SPDX-License-Identifier: BSD-2-Clause */
/* unwind_maps.h: writes unwind rows and mapping tables into the kernel's maps. */
/*
 * Used by one thread. Writes rows first, then the pages that lead to them, then the tables that
 * lead to those, and removes them in reverse order, so that the kernel side never follows an empty
 * entry.
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
	int of, tables, pages, rules, chunks, first_chunk, hotspot_files, interpreters, processes;
};

int unwind_maps_create(const struct unwind_fds *fds, struct unwind_maps **out);
void unwind_maps_free(struct unwind_maps *maps); /* NULL is allowed; the kernel's maps remain */

/* Adds the rows of a file; stores the first of its n_pages pages. -ENOSPC if they do not fit. */
int unwind_maps_add(struct unwind_maps *maps, const struct unwind_file *file, uint32_t *first);

/* May the file have more rules than there is room for? Some of its rows would then have none. */
bool unwind_maps_crowded(const struct unwind_maps *maps, const struct unwind_file *file);

/* The free part of the room for rows, from 0 to 1: of rules, chunks or pages, whichever is
 * scarcest. */
double unwind_maps_room(const struct unwind_maps *maps);

/* Removes all pages of a file, and what only they used. */
void unwind_maps_remove(struct unwind_maps *maps, uint32_t first, size_t count);

/* Writes a table and assigns it to a process. */
int unwind_maps_put_table(struct unwind_maps *maps, uint32_t id, const struct unwind_table *table);
int unwind_maps_put_process(struct unwind_maps *maps, uint32_t pid, const struct unwind_of *of);
void unwind_maps_drop_table(struct unwind_maps *maps, uint32_t id);
void unwind_maps_drop_process(struct unwind_maps *maps, uint32_t pid);

/* The number of this layout for struct unwind_table, added if new; 0: not a Java virtual machine's,
 * or too many. */
uint32_t unwind_maps_hotspot(struct unwind_maps *maps, const struct hotspot_layout *layout,
			     uint32_t user);

/* Has a process (its index) an entry in `processes`? See table_has_process(). */
bool unwind_maps_has_process(int fd, uint32_t process);

/* Sets the interpreters of a process. `fd` is that of struct unwind_fds. */
int unwind_maps_put_interpreters(int fd, uint32_t pid, const struct interpreters *found);

/* Kernel memory used by rows, bytes. */
size_t unwind_maps_bytes(const struct unwind_maps *maps);

#endif
