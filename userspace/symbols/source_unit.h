/* SPDX-License-Identifier: BSD-2-Clause */
/* source_unit.h: the functions of a DWARF compilation unit, with those inlined into them. */
#ifndef GCPROF_SOURCE_UNIT_H
#define GCPROF_SOURCE_UNIT_H

#include <elfutils/libdw.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../util/buffer.h"

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
