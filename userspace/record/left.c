/* SPDX-License-Identifier: BSD-2-Clause */
/* left.c: who goes on when a recording ends. */
/*
 * The kernel side knows a process from its begin until its last thread has ended. Who has ended
 * since then, or waits as a zombie for its parent, does not go on.
 */
#include "left.h"

#include <bpf/bpf.h>
#include <stdbool.h>
#include <string.h>

#include "../../bpf/config.h"
#include "drain.h"
#include "proc_file.h"
#include "session.h"
#include "store.h"

enum { STAT_FIELD_STATE = 3 };

static bool is_running(uint32_t pid)
{
	char text[1024];
	const char *state = proc_file_read(pid, "stat", text, sizeof(text))
				    ? NULL
				    : proc_file_stat(text, STAT_FIELD_STATE);

	return state && *state != 'Z' && *state != 'X';
}

static bool look_at(uint32_t pid, struct left *out)
{
	if (!pid || !is_running(pid) || proc_file_read(pid, "comm", out->name, sizeof(out->name)))
		return false;
	out->name[strcspn(out->name, "\n")] = '\0';
	out->pid = pid;
	return true;
}

size_t left_find(const struct session *session, struct store *store, const struct drain *drain,
		 struct left *out, size_t max)
{
	int fd = session_processes_fd(session);
	uint32_t index, *before = NULL;
	size_t count = 0;

	while (!bpf_map_get_next_key(fd, before, &index)) {
		uint32_t pid = store_pid(store, index);
		struct left left;

		before = &index;
		if (!pid || !look_at(drain_proc_pid(drain, pid), &left))
			continue;
		if (count < max)
			out[count] = left;
		count++;
	}
	return count;
}
