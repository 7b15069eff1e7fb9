/* SPDX-License-Identifier: BSD-2-Clause */
/* session_change.c: changes during a recording: pauses, traced waits, followed objects. */
#include "session.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "../machine/clock.h"
#include "session_parts.h"

uint64_t session_pause(struct session *session)
{
	struct call_tracing *calls = &session->calls;
	uint64_t time;

	cpu_events_enable(session->cpu_events, false);
	session_report_ran(session, false);
	iterate_once(session->pause);
	calls->paused = calls->on;
	if (calls->on)
		session_close_window(session);
	else
		session_traced_cpu(session);
	session->skeleton->bss->resumed = UINT64_MAX;
	time = clock_now();
	if (calls->paused) {
		/* The window ends where the pause begins: there is no untraced gap between them. */
		calls->ended = time;
		session_detach_calls(session);
	}
	return time;
}

int session_resume(struct session *session, uint64_t *time)
{
	struct call_tracing *calls = &session->calls;
	int err = calls->paused ? session_trace_calls(session) : 0;

	/* CPU time up to here counts as reported. */
	if (!calls->paused)
		session_traced_cpu(session);
	session_report_ran(session, false);
	iterate_once(session->pause);
	*time = calls->on ? calls->begun : clock_now();
	session->skeleton->bss->resumed = *time;
	cpu_events_enable(session->cpu_events, true);
	return err;
}

int session_follow(struct session *session, uint32_t process)
{
	struct fate_table *table = calloc(1, sizeof(*table));
	int fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, "fate_map", sizeof(uint32_t), sizeof(*table), 1,
				NULL);
	const uint32_t zero = 0;
	int err = !table ? -ENOMEM : fd < 0 ? -errno : 0;

	if (!err) {
		table->limit = FATE_OBJECTS_MAX;
		table->over = table->known = 1;
		err = bpf_map_update_elem(fd, &zero, table, BPF_ANY);
	}
	if (!err)
		err = bpf_map_update_elem(session_table_fd(session, TABLE_FATES), &process, &fd,
					  BPF_ANY);
	if (!err)
		session->skeleton->bss->fates_known = 1;
	if (fd >= 0)
		close(fd);
	free(table);
	return err;
}

int session_trace_waits(struct session *session)
{
	struct gcprof_bpf *skeleton = session->skeleton;
	struct bpf_program *programs[] = {skeleton->progs.sched_switch,
					  skeleton->progs.sched_waking};
	int err = 0;

	if (skeleton->bss->waits_gaps)
		skeleton->bss->waits_opened = clock_now();
	for (int i = 0; i < 2 && !err; i++) {
		session->waits[i] = bpf_program__attach(programs[i]);
		err = session->waits[i] ? 0 : -errno;
	}
	if (err)
		session_leave_waits(session);
	return err;
}

void session_leave_waits(struct session *session)
{
	session->skeleton->bss->waits_gaps++;
	for (int i = 0; i < 2; i++) {
		bpf_link__destroy(session->waits[i]);
		session->waits[i] = NULL;
	}
}
