/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/* filter.h: the state of the current thread, and the collection time of its process. */
#ifndef GCPROF_FILTER_H
#define GCPROF_FILTER_H

#include "maps.h"
#include "pauses.h"

/* The state of a thread if it is traced, armed or active; else NULL. */
static __always_inline struct task_state *filter_task(struct task_struct *task)
{
	return recording ? bpf_task_storage_get(&tasks, task, NULL, 0) : NULL;
}

/* The same for the current thread. */
static __always_inline struct task_state *filter_followed(void)
{
	return filter_task(bpf_get_current_task_btf());
}

/* The state of the current thread if its events are recorded, else NULL. */
static __always_inline struct task_state *filter_active(void)
{
	struct task_state *state = filter_followed();

	return state && (state->flags & TASK_ACTIVE) ? state : NULL;
}

/* Ends recording the CPU time of an exited thread. False if it is not in that state. */
static __always_inline bool task_is_over(struct task_state *state)
{
	return __sync_val_compare_and_swap(&state->flags, TASK_ENDED, 0) == TASK_ENDED;
}

/* Are system calls traced now? See calls_epoch. */
static __always_inline bool calls_traced(uint32_t epoch)
{
	return !(epoch & 1);
}

/* End of the last pause of the recording, ns; 0: none yet; UINT64_MAX: it is paused. */
extern volatile uint64_t resumed;

/* Is the recording paused? Processes are still followed. */
static __always_inline bool is_paused(void)
{
	return resumed == (uint64_t)-1;
}

/* Is the thread in a system call whose begin was traced and whose end will be? */
static __always_inline bool call_is_open(const struct task_state *state)
{
	uint32_t epoch = calls_epoch;

	return state->start && state->epoch == epoch && calls_traced(epoch);
}

/*
 * Collection time of a process up to `now`, including a running collection. Global, like all
 * functions that are not inlined here: the verifier checks them once and not on every path.
 */
__noinline uint64_t process_gc_time_read(uint32_t process, uint64_t now)
{
	volatile struct process_state *state = bpf_map_lookup_elem(&processes, &process);

	return state ? pauses_time(state->pauses, now) : 0;
}

static __always_inline uint64_t process_gc_time(uint32_t process, uint64_t now)
{
	return collections_seen ? process_gc_time_read(process, now) : 0;
}

/* CPU time of a thread so far, ns. */
static __always_inline uint64_t task_ran(struct task_struct *task)
{
	return BPF_CORE_READ(task, se.sum_exec_runtime);
}

/* Time that the thread was runnable without a CPU, ns. */
static __always_inline uint64_t task_queued(struct task_struct *task)
{
	return bpf_core_field_exists(task->sched_info.run_delay)
		       ? BPF_CORE_READ(task, sched_info.run_delay)
		       : 0;
}

/* Page faults of a thread so far. */
static __always_inline void task_faults(struct task_struct *task, struct task_faults *out)
{
	out->minor = BPF_CORE_READ(task, min_flt);
	out->major = BPF_CORE_READ(task, maj_flt);
}

/* Recording of a thread begins: its earlier usage is not reported. */
static __always_inline void task_begins(struct task_struct *task, struct task_state *state)
{
	task_faults(task, &state->faults);
	state->faults_reported = state->paused_faults = state->faults;
	state->ran = task_ran(task);
	state->queued = state->paused_queued = task_queued(task);
}

/* A collection of the process begins, or, with `late`, is reported after it began. */
__noinline int process_gc_begin(const struct task_state *task, uint64_t heap, uint64_t began,
				uint32_t late)
{
	struct collection begun = {.heap = heap, .late = late};
	struct process_state *state;
	uint32_t process;

	if (!task || !heap)
		return 0;
	process = task->process;
	state = bpf_map_lookup_elem(&processes, &process);
	if (!state)
		return 0;
	begun.thread = (uint32_t)bpf_get_current_pid_tgid();
	task_faults(bpf_get_current_task_btf(), &begun.faults);
	collections_seen = 1;
	pauses_begin(state, &begun, began);
	return 0;
}

/* The collection of this heap ends. Its page faults go to the thread that ends it, and are known
 * only if that thread began it. */
__noinline int process_gc_end(struct task_state *task, uint64_t heap, uint64_t now)
{
	struct process_state *state;
	struct collection begun;
	uint32_t process;

	if (!task || !heap)
		return 0;
	process = task->process;
	task->gc_faults.minor = task->gc_faults.major = 0;
	task->gc_late = 0;
	state = bpf_map_lookup_elem(&processes, &process);
	if (!state)
		return 0;
	pauses_end(state, heap, now, &begun);
	if (!begun.heap)
		return 0;
	task->gc_late = begun.late;
	if (begun.thread != (uint32_t)bpf_get_current_pid_tgid()) {
		task->gc_late = 1;
		return 0;
	}
	task_faults(bpf_get_current_task_btf(), &task->gc_faults);
	task->gc_faults.minor -= begun.faults.minor;
	task->gc_faults.major -= begun.faults.major;
	return 0;
}

/* Ends the collections that a thread of the process began; `thread` 0: those of all threads. */
__noinline int process_gc_leave(uint32_t process, uint32_t thread, uint64_t now)
{
	struct process_state *state = bpf_map_lookup_elem(&processes, &process);

	if (state && state->pauses & PAUSES_DEPTH)
		pauses_leave(state, thread, now);
	return 0;
}

/* The current thread allocates, so it no longer collects, whatever events were lost. */
static __always_inline void process_gc_is_over(const struct task_state *task, uint64_t now)
{
	if (collections_seen)
		process_gc_leave(task->process, (uint32_t)bpf_get_current_pid_tgid(), now);
}

/* Did this thread begin a collection that is in progress? */
__noinline int process_gc_is_of(uint32_t process, uint32_t thread)
{
	const struct process_state *state = bpf_map_lookup_elem(&processes, &process);

	return state ? pauses_are_of(state, thread) : 0;
}

#endif
