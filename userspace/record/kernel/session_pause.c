/* SPDX-License-Identifier: BSD-2-Clause */
/* session_pause.c: pauses a recording and resumes it. */
#include "session.h"

#include "../machine/clock.h"
#include "session_parts.h"

uint64_t session_pause(struct session *session)
{
	struct call_tracing *calls = &session->calls;

	cpu_events_enable(session->cpu_events, false);
	session_report_ran(session, false);
	iterate_once(session->pause);
	calls->paused = calls->on;
	if (calls->on)
		session_leave_calls(session);
	else
		session_traced_cpu(session);
	session->skeleton->bss->resumed = UINT64_MAX;
	/* A window ends here, so that there is no gap after it. */
	return calls->paused ? calls->ended : clock_now();
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
