/* SPDX-License-Identifier: BSD-2-Clause */
/* tables.h: reads the tables of the kernel side. */
/* Not thread-safe for one entry; a negative errno of bpf(2) is returned as it is. */
#ifndef GCPROF_TABLES_H
#define GCPROF_TABLES_H

#include <stdint.h>

#include "session.h"

/* What the kernel side keeps of one key: 0 or -ENOENT: it has forgotten it, or never knew it. */
int table_lookup(const struct session *session, enum session_table table, const void *key,
		 void *value);
void table_forget(const struct session *session, enum session_table table, const void *key);

/*
 * Reads a table by the batch, *count entries at most; *count is how many there were. `place` is
 * where to go on, 0 at first. -ENOENT: these were the last.
 */
int table_lookup_batch(const struct session *session, enum session_table table, uint32_t *place,
		       void *keys, void *values, uint32_t *count);

#endif
