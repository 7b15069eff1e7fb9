/* SPDX-License-Identifier: BSD-2-Clause */
/* session_parts.h: private to session*.c: the state of a session. They include session.h first. */
#ifndef GCPROF_SESSION_PARTS_H
#define GCPROF_SESSION_PARTS_H

#include "cpu_events.h"
#include "../../../bpf/shares.h"
#include "gcprof.skel.h"
#include "setup.h"

enum { SYSTEM_LINKS = 24 };

struct session {
	struct gcprof_bpf *skeleton;
	bool multi; /* all places of a file share one link */
	struct attach *probes;
	struct stream_state streams[STREAM_END];
	struct bpf_link *links[SYSTEM_LINKS];
	size_t n_links;
	struct call_tracing calls;
	struct bpf_link *threads;      /* an iterator: registers existing threads */
	struct bpf_link *rest, *usage; /* report what is open at the end, or usage so far */
	struct bpf_link *pause;        /* before a pause, and at its end */
	struct bpf_link *ran, *cpu;    /* report CPU time, or add it up; NULL: not needed */
	uint32_t moved;                /* processes moved into the cgroup before the last search */
	struct cpu_events *cpu_events;
	struct own_code *own_code;
	uint64_t frequency; /* of the timers; 0: none */
	double tick_ns;     /* see session_tick_ns() */
};

/* The two halves of session_leave_calls(): no call counts any more; the tracepoints are detached,
 * which takes milliseconds. */
void session_close_window(struct session *session);
void session_detach_calls(struct session *session);

/* Runs a BPF iterator once: 0 or a negative errno. */
int iterate_once(const struct bpf_link *iterator);

#endif
