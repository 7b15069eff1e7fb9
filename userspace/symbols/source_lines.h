/* SPDX-License-Identifier: BSD-2-Clause */
/* source_lines.h: source files, lines and inlined functions from an ELF file's DWARF. */
/*
 * The file is read through libdw and is not trusted: the sizes of its sections, the number of
 * entries, and the time spent are limited. Data beyond the limits is unknown, never an error. Not
 * thread-safe.
 */
#ifndef GCPROF_SOURCE_LINES_H
#define GCPROF_SOURCE_LINES_H

#include <elfutils/libdw.h>
#include <gelf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../util/buffer.h"
#include "debug_open.h"
#include "symbol.h"

struct source_lines;

/*
 * `fd` is the file behind `elf`, -1 for an image in memory; `access` opens its shared file. `elf`
 * must outlive the result. Everything needed is read now, so its descriptor may be closed. -ENODATA
 * without usable DWARF, -ENOMEM.
 */
int source_lines_open(Elf *elf, int fd, const struct debug_access *access,
		      struct source_lines **out);
void source_lines_free(struct source_lines *lines); /* NULL is allowed */

/*
 * The function at a link-time address and those inlined into it, outermost first; returns their
 * number. Names are linker names, or NULL. `offset` is 0. Texts are owned by `lines`.
 */
size_t source_lines_find(struct source_lines *lines, uint64_t address,
			 struct symbol out[SYMBOLS_MAX]);

/* The functions of a DWARF compilation unit, with those inlined into them. */

/* Code of a function or a unit. */
struct source_range {
	uint64_t low, high; /* high exclusive */
	uint32_t number;    /* of its owner */
};

/* Adds the ranges of an entry, at most `max`; -ENOMEM. */
int source_ranges_add(struct buffer *all, Dwarf_Die *entry, uint32_t number, size_t max);
void source_ranges_sort(struct buffer *all);

/* The last of the sorted ranges that contains the address; NULL: none. */
const struct source_range *source_ranges_find(const struct buffer *all, uint64_t address);

/* What is left to spend on a file. */
struct source_budget {
	uint64_t entries; /* DWARF entries */
	uint64_t ns;
};

/* A function, or an inlined one. */
struct source_scope {
	Dwarf_Off entry;
	bool inlined;
	uint32_t end; /* the first scope after its contents */
	size_t first_range, n_ranges;
};

struct source_unit;

/* Reads a unit within the budget. NULL: no memory. */
struct source_unit *source_unit_read(Dwarf_Die *unit, struct source_budget *budget);
void source_unit_free(struct source_unit *unit); /* NULL is allowed */

/* The function at an address and those inlined there, outermost first; returns their number. */
size_t source_unit_find(const struct source_unit *unit, uint64_t address,
			const struct source_scope **out, size_t max);

#endif
