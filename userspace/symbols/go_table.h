/* SPDX-License-Identifier: BSD-2-Clause */
/* go_table.h: metadata in a Go program's file: functions, lines, inlining, types. */
/*
 * Stripped Go programs keep the table of their functions (.gopclntab), because the runtime needs
 * it. Supports versions 1.18 and later on x86-64. The file is not trusted: each length and offset
 * is checked against its section. Addresses are link-time addresses. Not thread-safe.
 */
#ifndef GCPROF_GO_TABLE_H
#define GCPROF_GO_TABLE_H

#include <gelf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "go_lines.h"
#include "symbol.h"
#include "../util/problem.h"

struct go_table;

#define GO_TYPE_NONE 1 /* number of the pseudo-type for untyped allocations */

/*
 * `elf` must outlive the table, and its descriptor must stay open until go_table_keep(). -ENOENT:
 * not a Go program, and *problem is unchanged; -ENOEXEC: a Go program that is not understood, and
 * *problem has the reason; -ENOMEM.
 */
int go_table_open(Elf *elf, struct go_table **out, struct problem *problem);
void go_table_free(struct go_table *table); /* NULL is allowed */

/* Is this a Go program, whether or not it is understood? */
bool go_table_has(Elf *elf);

/* Reads everything except code now, so that the descriptor may be closed. */
void go_table_keep(const struct go_table *table);

/* Its version, "1.19.8"; "" if unknown. */
const char *go_table_version(const struct go_table *table);

/* The functions in address order; false behind the last one. */
bool go_table_function(const struct go_table *table, size_t index, struct go_function *out);

/* Like the functions of go_lines.h. */
bool go_table_is_top(const struct go_table *table, size_t index);
void go_table_stack(const struct go_table *table, size_t index, go_stack_visit *visit,
		    void *context);

/* The first function of this name; a second one is a wrapper for assembler code. False: none. */
bool go_table_named(const struct go_table *table, const char *name, struct go_function *out);

/* The function that contains an address. */
bool go_table_at(const struct go_table *table, uint64_t address, struct go_function *out);

/*
 * The function at an address and those inlined into it there, outermost first; returns their
 * number. Texts are owned by the table.
 */
size_t go_table_find(const struct go_table *table, uint64_t address,
		     struct symbol out[SYMBOLS_MAX]);

/* Start and end of the type descriptors. */
void go_table_types(const struct go_table *table, uint64_t *begin, uint64_t *end);

/* The name of the type whose descriptor is `offset` bytes behind the first one. Returns its length,
 * truncated to fit into `size` with a zero; 0: none. *plain: its objects have no pointers.
 * GO_TYPE_NONE is also valid. */
size_t go_table_type_name(const struct go_table *table, uint64_t offset, char *out, size_t size,
			  bool *plain);

/* The bytes of the file loaded at an address; *size reaches to the end of their section. NULL:
 * none. A loader may change them. */
const uint8_t *go_table_bytes(const struct go_table *table, uint64_t address, uint64_t *size);

/* The code of a function in the file; *size is limited by its section. NULL: none. */
const uint8_t *go_table_code(const struct go_table *table, const struct go_function *function,
			     uint64_t *size);

#endif
