/* SPDX-License-Identifier: BSD-2-Clause */
/* session.h: the BPF object: load, attach, stop. */
#ifndef GCPROF_SESSION_H
#define GCPROF_SESSION_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "../../../bpf/config.h"
#include "../../../bpf/events.h"
#include "attach.h"
#include "own_code.h"
#include "../../profile/codes.h"
#include "../machine/options.h"
#include "setup.h"
#include "unwind_maps.h"

struct session;

/* Tracing of system calls, which can be stopped and resumed. */
struct call_tracing {
	bool counted; /* requested; otherwise only ends of calls are traced, for waits */
	bool on;
	bool paused;           /* by session_pause(): resumes with the recording */
	uint64_t begun, ended; /* last begin and end, ns; 0: never */
	double path_ns; /* time that tracing adds to each call of the machine, recorded or not */
	double call_ns; /* time that it adds to a recorded call; set by others */
};

struct stream_state {
	bool attached;
	enum stream_why why;
	char why_not[256]; /* see stream_why_not() */
};

/* Loads the BPF object for these options. Attaches nothing yet. */
int session_open(const struct record_options *options, struct session **out,
		 struct problem *problem);

/*
 * Traces all existing threads of these processes (pids of /proc here): from now on, or, if `armed`,
 * from their next exec.
 */
int session_add_targets(struct session *session, const pid_t *pids, size_t count, bool armed);

/* The outcome for one of them: -ESRCH: it ended. */
int session_target(struct session *session, pid_t pid, struct target_entry *out);

/*
 * Searches for threads to trace until no more are found: those of the processes passed to
 * session_add_targets(), or, as the options say, all or a cgroup's.
 */
int session_find_threads(struct session *session);

/* The same, if a process was moved into the cgroup since the last search. */
int session_find_moved(struct session *session);

/* Does any traced process still exist? */
bool session_has_targets(const struct session *session);

/*
 * Attaches everything but probes. The state of a stream that cannot be attached says so; a negative
 * errno only if the program could not be traced at all.
 */
int session_attach(struct session *session, const struct record_options *options,
		   struct problem *problem);

/* Attaches probes file by file; owned by the session. */
struct attach *session_probes(struct session *session);

/* Updates the states of the alloc and gc streams, and why they are not recorded if so; true if one
 * changed. */
bool session_probes_attached(struct session *session, enum stream_why why, const char *why_not);

const struct stream_state *session_stream(const struct session *session, enum stream stream);

/* Tables of the kernel side (tables.h): by process, by struct syscall_key, by process, two per-CPU
 * arrays, and by process paths to fibers, probed code, and followed objects. */
enum session_table {
	TABLE_PROCESSES,
	TABLE_SYSCALLS,
	TABLE_CALL_CPUS,
	TABLE_LOSSES,
	TABLE_COSTS,
	TABLE_FIBERS,
	TABLE_TEXTS,
	TABLE_FATES,
};

/* Counts system calls on locks of interpreters separately from now on. */
void session_know_locks(struct session *session);

/* Adds fibers to the events of a process, until TABLE_FIBERS drops it. */
int session_add_fibers(struct session *session, uint32_t process, const struct fiber_path *path);

/* Follows the sampled objects of a process, which has none so far, until TABLE_FATES drops it. May
 * take 15 ms. */
int session_follow(struct session *session, uint32_t process);

/* Map descriptors, owned by the session. */
int session_ring_fd(const struct session *session, enum session_ring ring);
int session_table_fd(const struct session *session, enum session_table table);
struct unwind_fds session_unwind_fds(const struct session *session);

/* The user of all traced threads so far; USER_NONE: there are several, or no thread yet. */
uint32_t session_user(const struct session *session);

/* The machine code of our programs; empty if its location is hidden from us. Owned by the
 * session. */
struct own_code *session_own_code(const struct session *session);

/* The function of the kernel at an address, valid until the next call; NULL: there is none. */
const char *session_kernel_name(struct session *session, uint64_t address);

/* Adds runs of our programs that the kernel skipped to the losses that they stand for. */
void session_add_skipped(const struct session *session, uint64_t counts[LOSS_KERNEL_MAX]);

/*
 * Changes the rates: a timer sample stands for `stands` ticks, the others are left out; `rate`
 * records of short calls, per second and CPU; calls below `below_ns` are short in any case.
 */
void session_slow_timer(struct session *session, uint32_t stands);

/* What the kernel takes for a timer interrupt, without our program, ns. */
double session_tick_ns(const struct session *session);

void session_short_calls(struct session *session, uint32_t rate, uint64_t below_ns);

/* From time to time: draws new random intervals between timer samples. */
void session_draw_timer(struct session *session);

/* Reports the CPU time of threads since the last call in the ring of timer samples; with `usage`,
 * only with --rotate or --keep, also their usage so far in the ring of processes. */
int session_report_ran(struct session *session, bool usage);

/* Owned by the session. */
struct call_tracing *session_calls(struct session *session);

/* CPU time of all recorded programs so far while calls were traced, ns. Takes 1 us per thread of
 * the machine. */
uint64_t session_traced_cpu(const struct session *session);

/* Calls are traced from `begun` on. Takes 0.3 ms as a rule, and up to 20 ms if tracing ended within
 * the last 50. A negative errno leaves it off. */
int session_trace_calls(struct session *session);

/* The recording begins now, and so do the first window and what counts of calls in progress.
 * Returns that time, ns. */
uint64_t session_begin_calls(struct session *session);

/*
 * Calls were traced until `ended`. While any program is attached, the kernel sends every call on
 * the machine down a slower path; so both are detached.
 */
void session_leave_calls(struct session *session);

/*
 * Pauses the recording: takes no samples, traces no calls, and leaves out CPU time from the
 * returned time on. Processes are still followed.
 */
uint64_t session_pause(struct session *session);

/* Resumes it, at *time. A negative errno: system calls are not traced, all else is recorded. */
int session_resume(struct session *session, uint64_t *time);

/* Stops all recording at once; open calls and waits are reported in the rings. */
void session_stop(struct session *session);

/* Detaches and frees. NULL is allowed. */
void session_free(struct session *session);

#endif
