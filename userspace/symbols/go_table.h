/* SPDX-License-Identifier: BSD-2-Clause */
/* go_table.h: what a Go program's file says about itself: functions, lines, inlining, types. */
/*
 * Go programs keep the table of their functions (.gopclntab) when they are stripped: the runtime
 * needs it. Versions 1.18 and later, of x86-64. The file is not trusted: each length and each
 * offset is checked against the section that it lies in. Addresses are as the linker knows them.
 * Not thread-safe.
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

#define GO_TYPE_NONE 1 /* a number of a type: of what is allocated without one */

/*
 * `elf` must live as long as the table, and its descriptor, until go_table_keep(). -ENOENT: this is
 * no Go program, and *problem is left alone; -ENOEXEC: it is one that is not understood, and
 * *problem says why; -ENOMEM.
 */
int go_table_open(Elf *elf, struct go_table **out, struct problem *problem);
void go_table_free(struct go_table *table); /* NULL is allowed */

/* Is this a Go program, which may not be understood? */
bool go_table_has(Elf *elf);

/* Reads all but the code now, so that the descriptor may be closed. */
void go_table_keep(const struct go_table *table);

/* Its version, "1.19.8"; "" if the file does not say. */
const char *go_table_version(const struct go_table *table);

/* The functions in the order of their addresses; false behind the last one. */
bool go_table_function(const struct go_table *table, size_t index, struct go_function *out);

/* As the functions of go_lines.h. */
bool go_table_is_top(const struct go_table *table, size_t index);
void go_table_stack(const struct go_table *table, size_t index, go_stack_visit *visit,
		    void *context);

/* The first of this name: a second one is a wrapper for assembler. False: there is none. */
bool go_table_named(const struct go_table *table, const char *name, struct go_function *out);

/* The one that holds an address. */
bool go_table_at(const struct go_table *table, uint64_t address, struct go_function *out);

/*
 * The function at an address and those inlined into it there, outermost first; how many. Texts
 * are owned by the table.
 */
size_t go_table_find(const struct go_table *table, uint64_t address,
		     struct symbol out[SYMBOLS_MAX]);

/* Where the descriptions of types begin and end. */
void go_table_types(const struct go_table *table, uint64_t *begin, uint64_t *end);

/* The name of the type whose description is `offset` bytes behind the first one: its length, cut to
 * fit into `size` with a zero; 0: there is none. GO_TYPE_NONE is another such number. */
size_t go_table_type_name(const struct go_table *table, uint64_t offset, char *out, size_t size);

/* The bytes of the file that are loaded at an address, up to the end of their section in *size;
 * NULL: none are. A loader may change them. */
const uint8_t *go_table_bytes(const struct go_table *table, uint64_t address, uint64_t *size);

/* The bytes of a function in the file, as many as its section has in *size; NULL: there are none.
 */
const uint8_t *go_table_code(const struct go_table *table, const struct go_function *function,
			     uint64_t *size);

#endif
