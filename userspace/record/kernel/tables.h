/* SPDX-License-Identifier: BSD-2-Clause */
/* tables.h: reads the tables of the kernel side. */
/* Not thread-safe per entry; errors of bpf(2) are returned as negative errno. */
#ifndef GCPROF_TABLES_H
#define GCPROF_TABLES_H

#include <stdint.h>

#include "session.h"

/* The value of a key: 0, or -ENOENT: dropped or never known. */
int table_lookup(const struct session *session, enum session_table table, const void *key,
		 void *value);
void table_forget(const struct session *session, enum session_table table, const void *key);

/* An entry of TABLE_SYSCALLS was removed; its owner may have another one. */
void table_return_total(const struct session *session, uint32_t owner);

/*
 * Reads up to *count entries and sets *count to their number. `place` is the position, initially 0.
 * -ENOENT: these were the last.
 */
int table_lookup_batch(const struct session *session, enum session_table table, uint32_t *place,
		       void *keys, void *values, uint32_t *count);

/* Counters of the kernel side, summed over all CPUs: losses, and runs and times of its programs,
 * which are counted only with --max-overhead. */
int table_losses(const struct session *session, uint64_t counts[LOSS_KERNEL_MAX]);
int table_costs(const struct session *session, struct cost costs[COST_PROGRAMS]);

#endif
