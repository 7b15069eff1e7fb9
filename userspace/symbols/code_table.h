/* SPDX-License-Identifier: BSD-2-Clause */
/* code_table.h: functions that a process made at run time, by their addresses. */
#ifndef GCPROF_CODE_TABLE_H
#define GCPROF_CODE_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "symbol.h"

#define CODE_NAME_MAX 4096 /* bytes of a name that are kept */

struct code_table;

/* From `address` on a function stands at this line. */
struct code_line {
	uint64_t address;
	const char *file; /* from code_table_text(), or NULL */
	uint32_t line;
};

/* Not thread-safe. NULL: no memory. */
struct code_table *code_table_create(void);
void code_table_free(struct code_table *table); /* NULL is allowed */

/* Functions that are added from now on are there since this time, ns of any clock; at first 0. */
void code_table_set_time(struct code_table *table, uint64_t since);

/*
 * Adds a function; of several at an address one that came later counts. `lines`
 * are copied and must be sorted by address. -ENOMEM; -E2BIG once the table is
 * full: then nothing is added any more.
 */
int code_table_add(struct code_table *table, uint64_t address, uint64_t size, const char *name,
		   size_t name_size, const struct code_line *lines, size_t n_lines);

/* The function that was added last at exactly this address is now at another one, too. */
int code_table_move(struct code_table *table, uint64_t from, uint64_t to, uint64_t size);

/* A copy of a text that lives as long as the table; equal ones are one. NULL: no memory, or full.
 */
const char *code_table_text(struct code_table *table, const char *text, size_t size);

/*
 * The function that was at an address at that time: the last that had come, or the
 * first that was to come. Texts are owned by the table.
 */
bool code_table_find(struct code_table *table, uint64_t address, uint64_t time, struct symbol *out);

#endif
