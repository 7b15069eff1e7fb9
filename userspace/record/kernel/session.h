/* SPDX-License-Identifier: BSD-2-Clause */
/* session.h: the BPF object: load, attach, stop; its tables and rings. */
#ifndef GCPROF_SESSION_H
#define GCPROF_SESSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "../../../bpf/config.h"
#include "../../../bpf/events.h"
#include "../../profile/codes.h"
#include "../machine/options.h"
#include "attach.h"
#include "setup.h"
#include "unwind_maps.h"

/* Separates the time of recording from the program's own, by kernel stack. */

struct own_code; /* not thread-safe */

int own_code_create(struct own_code **out); /* -ENOMEM */
void own_code_free(struct own_code *own);   /* NULL is allowed */

/* Adds the machine code of one of our BPF programs, at `begin` in the kernel. */
int own_code_add(struct own_code *own, uint64_t begin, uint64_t length); /* -ENOMEM */

struct bpf_program;

/* The same for all functions of a program; one that is not loaded has none. */
int own_code_add_program(struct own_code *own, const struct bpf_program *program);

/* False: nothing was added, so all time counts as the program's. */
bool own_code_is_known(const struct own_code *own);

/*
 * Is a thread with these kernel frames, innermost first, in one of our programs, in a kernel
 * function called by one, or in a function that calls one? Callers are known once a stack showed
 * them.
 */
bool own_code_has(struct own_code *own, const uint64_t *frames, size_t count);

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

/* Tables of the kernel side: by process, by struct syscall_key, by process, two per-CPU
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

/* Looks for processes in TABLE_FIBERS from now on: their events say in which fiber they are. */
void session_know_fibers(struct session *session);

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
/* Begin and stop tracing waits. Of the time between, only waits are known that began before it and
 * end after it. 0 or a negative errno. */
int session_trace_waits(struct session *session);
void session_leave_waits(struct session *session);

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

/* Tells the kernel side where processes have code with breakpoints (bpf/text.bpf.c). */

/* Before the first file is attached, and after session_attach(). */
void texts_begin(const struct session *session);

/* A file with probes may be mapped anywhere in the process. */
void texts_expect(const struct session *session, uint32_t process);

/* It was mapped. */
void texts_add(const struct session *session, const struct event_mmap *event);

/* A child has its parent's code. */
void texts_inherit(const struct session *session, uint32_t parent, uint32_t child);

/* The process executed another program at `time`; what was mapped before is gone. */
void texts_exec(const struct session *session, uint32_t process, uint64_t time);

/* The process is stopped; its mappings up to then were added. Has it replaced any of them? */
bool texts_replaced(const struct session *session, const struct event_replaced *event);

void texts_forget(const struct session *session, uint32_t process);

/* The tables. Not thread-safe per entry; errors of bpf(2) are returned as negative errno. */

/* The value of a key: 0, or -ENOENT: dropped or never known. */
int table_lookup(const struct session *session, enum session_table table, const void *key,
		 void *value);
void table_forget(const struct session *session, enum session_table table, const void *key);

/* An entry of TABLE_SYSCALLS or TABLE_CALL_CPUS was removed; its owner may have another one. */
void table_return(const struct session *session, enum session_table table, uint32_t owner);

/* Has a process an entry in TABLE_PROCESSES? Not if it has ended, or its user has too many. */
bool table_has_process(const struct session *session, uint32_t process);

/* Sets the entry of a process in another table by process. -ESRCH: it has none in TABLE_PROCESSES.
 * So no table is fuller than that one, which is divided by user. */
int table_put(const struct session *session, enum session_table table, uint32_t process,
	      const void *value);

/*
 * Reads up to *count entries and sets *count to their number. `place` is the position, initially 0.
 * -ENOENT: these were the last.
 */
int table_lookup_batch(const struct session *session, enum session_table table, uint32_t *place,
		       void *keys, void *values, uint32_t *count);

/* Counters of the kernel side, summed over all CPUs: losses, and runs and times of its programs,
 * which are counted only with --max-overhead. */
int table_losses(const struct session *session, uint64_t counts[LOSS_KERNEL_MAX]);
int table_costs(const struct session *session, struct cost costs[COST_PROGRAMS]);

/* The rings. */

struct rings;

/* Receives one record of `size` bytes, valid during the call. */
typedef void rings_visit(void *context, const struct event_header *event, size_t size);

int rings_open(const struct session *session, rings_visit *visit, void *context,
	       struct rings **out);

/*
 * Delivers the rings' contents. 1 if all were emptied; 0 if one kept filling and was left for the
 * next call; or a negative errno. *reached: the time of the call, and then the one up to which all
 * records were delivered, CLOCK_MONOTONIC ns.
 */
int rings_drain(struct rings *rings, uint64_t *reached);

/* NULL is allowed. */
void rings_free(struct rings *rings);

#endif
