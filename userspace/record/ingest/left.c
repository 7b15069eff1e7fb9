/* SPDX-License-Identifier: BSD-2-Clause */
/* left.c: recorded processes that still run when a recording ends. */
/*
 * The kernel side knows a process from its begin until its last thread has ended. Processes that
 * ended since then, or are zombies, are left out.
 */
#include "left.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "../../../bpf/config.h"
#include "../../util/proc_file.h"
#include "../kernel/session.h"
#include "../kernel/tables.h"
#include "../world/processes.h"

enum {
	BATCH = 256, /* more than ever share a bucket of the kernel's table */
};

static bool look_at(const struct process *process, struct left *out)
{
	uint32_t pid = process ? process->proc_pid : 0;

	if (!pid || !proc_living_thread(pid) ||
	    proc_file_read(pid, "comm", out->name, sizeof(out->name)))
		return false;
	out->name[strcspn(out->name, "\n")] = '\0';
	out->pid = pid;
	return true;
}

size_t left_find(const struct session *session, struct processes *processes, struct left *out,
		 size_t max)
{
	static uint32_t indexes[BATCH];
	static struct process_state states[BATCH];
	uint32_t place = 0, n = BATCH;
	size_t count = 0;
	int err;

	do {
		n = BATCH;
		err = table_lookup_batch(session, TABLE_PROCESSES, &place, indexes, states, &n);
		for (uint32_t i = 0; (!err || err == -ENOENT) && i < n; i++) {
			struct left left;

			if (!look_at(processes_written(processes, indexes[i]), &left))
				continue;
			if (count < max)
				out[count] = left;
			count++;
		}
	} while (!err);
	return count;
}
