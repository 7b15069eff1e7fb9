/* SPDX-License-Identifier: BSD-2-Clause */
/* session_pause.c: pauses a recording and resumes it. */
#include "session.h"

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
