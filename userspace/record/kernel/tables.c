/* SPDX-License-Identifier: BSD-2-Clause */
/* tables.c: drains the rings of the kernel side and reads its tables. */
#include "session.h"

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

void table_return(const struct session *session, enum session_table table, uint32_t owner)
{
	struct gcprof_bpf__bss *bss = session->skeleton->bss;
	volatile struct shares *shares = table == TABLE_SYSCALLS ? &bss->totals_shares
								 : &bss->cpu_shares;

	__atomic_fetch_sub(&shares->used, 1, __ATOMIC_RELAXED);
	__atomic_fetch_sub(&shares->of[owner % SHARE_OWNERS], 1, __ATOMIC_RELAXED);
}

bool table_has_process(const struct session *session, uint32_t process)
{
	struct process_state state;

	return !table_lookup(session, TABLE_PROCESSES, &process, &state);
}

int table_put(const struct session *session, enum session_table table, uint32_t process,
	      const void *value)
{
	if (!table_has_process(session, process))
		return -ESRCH;
	return bpf_map_update_elem(session_table_fd(session, table), &process, value, BPF_ANY);
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

/* Per ring and call: a ring that fills as fast as it is read must not starve the others, and
 * requests. */
enum { RECORDS_MAX = 50000 };

struct rings {
	struct ring_buffer *buffers[RINGS];
	rings_visit *visit;
	void *context;
	unsigned budget;
	uint64_t latest; /* time of a record of this call and ring */
};

static int take(void *context, void *data, size_t size)
{
	const struct event_header *header = data;
	struct rings *rings = context;

	if (size >= sizeof(*header)) {
		rings->latest = header->time > rings->latest ? header->time : rings->latest;
		rings->visit(rings->context, header, size);
	}
	return --rings->budget ? 0 : -EBUSY;
}

int rings_open(const struct session *session, rings_visit *visit, void *context, struct rings **out)
{
	struct rings *rings = calloc(1, sizeof(*rings));

	if (!rings)
		return -ENOMEM;
	rings->visit = visit;
	rings->context = context;
	for (int ring = 0; ring < RINGS; ring++) {
		int fd = session_ring_fd(session, (enum session_ring)ring);

		rings->buffers[ring] = ring_buffer__new(fd, take, rings, NULL);
		if (!rings->buffers[ring]) {
			int err = -errno;
			rings_free(rings);
			return err;
		}
	}
	*out = rings;
	return 0;
}

int rings_drain(struct rings *rings, uint64_t *reached)
{
	int emptied = 1;

	for (int ring = 0; ring < RINGS; ring++) {
		int err;

		rings->budget = RECORDS_MAX;
		rings->latest = 0;
		err = ring_buffer__consume(rings->buffers[ring]);
		if (err < 0 && err != -EBUSY)
			return err;
		if (err < 0) {
			emptied = 0;
			*reached = rings->latest < *reached ? rings->latest : *reached;
		}
	}
	return emptied;
}

void rings_free(struct rings *rings)
{
	if (!rings)
		return;
	for (int ring = 0; ring < RINGS; ring++)
		ring_buffer__free(rings->buffers[ring]);
	free(rings);
}
