/* SPDX-License-Identifier: BSD-2-Clause */
/* tables.c: reads the tables of the kernel side. */
#include "tables.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "session_parts.h"

int table_lookup(const struct session *session, enum session_table table, const void *key,
		 void *value)
{
	return bpf_map_lookup_elem(session_table_fd(session, table), key, value);
}

void table_forget(const struct session *session, enum session_table table, const void *key)
{
	bpf_map_delete_elem(session_table_fd(session, table), key);
}

void table_return_total(const struct session *session, uint32_t owner)
{
	struct gcprof_bpf__bss *bss = session->skeleton->bss;

	__atomic_fetch_sub(&bss->totals_shares.used, 1, __ATOMIC_RELAXED);
	__atomic_fetch_sub(&bss->totals_shares.of[owner % SHARE_OWNERS], 1, __ATOMIC_RELAXED);
}

int table_lookup_batch(const struct session *session, enum session_table table, uint32_t *place,
		       void *keys, void *values, uint32_t *count)
{
	return bpf_map_lookup_batch(session_table_fd(session, table), *place ? place : NULL, place,
				    keys, values, count, NULL);
}

/* Sums a per-CPU array of `count` values, each of `words` counters, by one system call. */
static int sum_array(const struct session *session, enum session_table table, uint32_t count,
		     size_t words, uint64_t *sums)
{
	const size_t n_cpus = (size_t)libbpf_num_possible_cpus(), total = count * words;
	uint32_t *keys = calloc(count, sizeof(*keys)), place = 0, got = count;
	uint64_t *values = calloc(total * n_cpus, sizeof(*values));
	int err = -ENOMEM;

	memset(sums, 0, total * sizeof(*sums));
	if (keys && values)
		err = table_lookup_batch(session, table, &place, keys, values, &got);
	/* -ENOENT: no more. */
	if (err == -ENOENT)
		err = 0;
	for (size_t i = 0; !err && i < total * n_cpus; i++)
		sums[i / (words * n_cpus) * words + i % words] += values[i];
	free(keys);
	free(values);
	return err;
}

int table_losses(const struct session *session, uint64_t counts[LOSS_KERNEL_MAX])
{
	int err = sum_array(session, TABLE_LOSSES, LOSS_KERNEL_MAX, 1, counts);

	session_add_skipped(session, counts);
	return err;
}

int table_costs(const struct session *session, struct cost costs[COST_PROGRAMS])
{
	return sum_array(session, TABLE_COSTS, COST_PROGRAMS, sizeof(*costs) / sizeof(uint64_t),
			 (uint64_t *)costs);
}
