/* SPDX-License-Identifier: BSD-2-Clause */
/* jitdump.h: reads the files by which JIT compilers describe their code to perf: jit-PID.dump. */
#ifndef GCPROF_JITDUMP_H
#define GCPROF_JITDUMP_H

#include "code_table.h"

struct jitdump;

/* NULL: no memory. `table` is borrowed. */
struct jitdump *jitdump_create(struct code_table *table);
void jitdump_free(struct jitdump *dump); /* NULL is allowed */

/*
 * Reads the whole records among the next bytes of a file, from its beginning on;
 * *used becomes the number of those bytes. *wanted is how many are needed to go on.
 * -EBADMSG if it is no such file, or makes no sense from here on; what
 * code_table_add() returns.
 */
int jitdump_parse(struct jitdump *dump, const void *data, size_t size, size_t *used,
		  size_t *wanted);

#endif
