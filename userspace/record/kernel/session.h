/* SPDX-License-Identifier: BSD-2-Clause */
/* session.h: the BPF object: loaded, attached, switched off. */
#ifndef GCPROF_SESSION_H
#define GCPROF_SESSION_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "../../../bpf/config.h"
#include "../../../bpf/events.h"
#include "attach.h"
#include "own_code.h"
#include "../machine/options.h"
#include "setup.h"
#include "unwind_maps.h"

struct session;

/* Tracing of system calls, which can be turned off and on. */
struct call_tracing {
	bool counted; /* it is asked for; else only ends of calls are, by waits */
	bool on;
	uint64_t begun, ended; /* ns: when it last did; 0: never */
	double call_ns;        /* what a call takes longer while it is traced; set by others */
};

struct stream_state {
	bool attached;
	char why_not[256]; /* a sentence, if not */
};

/* Loads the BPF object for these options. Nothing is attached yet. */
int session_open(const struct record_options *options, struct session **out,
		 struct problem *problem);

/*
 * Follows all threads of processes (as /proc calls them) that are there already: from
 * now on, or, if they are `armed`, from their next exec on.
 */
int session_add_targets(struct session *session, const pid_t *pids, size_t count, bool armed);

/* What became of one of them: -ESRCH: it is gone. */
int session_target(struct session *session, pid_t pid, struct target_entry *out);

/*
 * Looks for threads to follow until no more are found: those of the processes
 * named to session_add_targets(), or, as the options say, everybody's or a cgroup's.
 */
int session_find_threads(struct session *session);

/* The same, if a process was moved into the cgroup since the last look. */
int session_find_moved(struct session *session);

/* Is any process that is followed still there? */
bool session_has_targets(const struct session *session);

/*
 * Attaches everything but probes. A stream that cannot be attached says so in
 * its state; negative errno only if the program could not even be followed.
 */
int session_attach(struct session *session, const struct record_options *options,
		   struct problem *problem);

/* Probes are attached file by file through this; owned by the session. */
struct attach *session_probes(struct session *session);

/* Brings the states of the alloc and gc streams up to date; true if one changed. */
bool session_probes_attached(struct session *session, const char *why_not);

const struct stream_state *session_stream(const struct session *session, enum stream stream);

/* Tables of the kernel side (tables.h), by process, by struct syscall_key, by process, and two
 * arrays of each CPU, and paths to fibers by process. */
enum session_table {
	TABLE_PROCESSES,
	TABLE_SYSCALLS,
	TABLE_CALL_CPUS,
	TABLE_LOSSES,
	TABLE_COSTS,
	TABLE_FIBERS,
};

/* From now on system calls on locks of interpreters count apart from others. */
void session_know_locks(struct session *session);

/* From now on events of a process carry its fibers, until TABLE_FIBERS forgets it. */
int session_add_fibers(struct session *session, uint32_t process, const struct fiber_path *path);

/* Map descriptors, owned by the session. */
int session_ring_fd(const struct session *session, enum session_ring ring);
int session_table_fd(const struct session *session, enum session_table table);
struct unwind_fds session_unwind_fds(const struct session *session);

/* The machine code of our programs: nothing where we may not know where it lies. Owned by the
 * session. */
struct own_code *session_own_code(const struct session *session);

/* Sums the kernel's counters over all CPUs. */
int session_losses(const struct session *session, uint64_t counts[LOSS_KERNEL_MAX]);

/* What our programs took so far, likewise; only if the options have a --max-overhead. */
int session_costs(const struct session *session, struct cost out[COST_PROGRAMS]);

/*
 * From now on a timer sample stands for so many at the frequency asked for, which are left out, and
 * so many short calls are recorded one by one, a second and CPU; calls that take less than
 * `below_ns` are short whatever else they are.
 */
void session_slow_timer(struct session *session, uint32_t stands);
void session_short_calls(struct session *session, uint32_t rate, uint64_t below_ns);

/* Now and then: draws new distances between timer samples, at random. */
void session_draw_timer(struct session *session);

/* Puts what threads ran since the last time into the ring of timer samples; and with `usage`, only
 * if the options have --rotate or --keep, what they used so far into that of processes. */
int session_report_ran(struct session *session, bool usage);

/* Owned by the session. */
struct call_tracing *session_calls(struct session *session);

/* Calls are traced from `begun` on. Takes 0.3 ms as a rule, and up to 20 ms if tracing ended within
 * the last 50. A negative errno leaves it off. */
int session_trace_calls(struct session *session);

/*
 * Calls were traced until `ended`. As long as any program is attached to them the kernel takes a
 * longer way for every call of every thread on the machine: so both are detached.
 */
void session_leave_calls(struct session *session);

/*
 * From now on the kernel side records nothing, at once and for everybody; what was
 * still open (calls, waits) is reported in the rings.
 */
void session_stop(struct session *session);

/* Detaches and frees. NULL is allowed. */
void session_free(struct session *session);

#endif
