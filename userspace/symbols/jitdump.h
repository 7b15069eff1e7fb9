/* SPDX-License-Identifier: BSD-2-Clause */
/* jitdump.h: reads the files in which JIT compilers describe code: jit-PID.dump, perf-PID.map. */
#ifndef GCPROF_JITDUMP_H
#define GCPROF_JITDUMP_H

#include "code_table.h"

struct jitdump;

/* NULL: no memory. `table` is borrowed. */
struct jitdump *jitdump_create(struct code_table *table);
void jitdump_free(struct jitdump *dump); /* NULL is allowed */

/*
 * Reads the complete records in the next bytes of a file, from its start on. *used becomes their
 * size; *wanted is the number of bytes needed to continue. -EBADMSG if it is not such a file, or
 * malformed from here on; errors of code_table_add().
 */
int jitdump_parse(struct jitdump *dump, const void *data, size_t size, size_t *used,
		  size_t *wanted);

/*
 * Adds the functions in the complete lines among `size` bytes: "START SIZE name", with hexadecimal
 * numbers. Skips malformed lines. *used becomes the size of the complete lines; the rest is the
 * start of a line. Errors of code_table_add().
 */
int perf_map_parse(struct code_table *table, const char *text, size_t size, size_t *used);

#endif
