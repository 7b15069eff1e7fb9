/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/* filter.h: is the current thread followed, and how long did its process collect? */
#ifndef GCPROF_FILTER_H
#define GCPROF_FILTER_H

#include "maps.h"

/* The state of the current thread if it is followed, armed or active; else NULL. */
static __always_inline struct task_state *filter_followed(void)
{
	if (!recording)
		return NULL;
	return bpf_task_storage_get(&tasks, bpf_get_current_task_btf(), NULL, 0);
}

/* The state of the current thread if its events are recorded, else NULL. */
static __always_inline struct task_state *filter_active(void)
{
	struct task_state *state = filter_followed();

	return state && (state->flags & TASK_ACTIVE) ? state : NULL;
}

/* Nor is that now, of a thread that has ended; false if it has not, or that was so before. */
static __always_inline bool task_is_over(struct task_state *state)
{
	return __sync_val_compare_and_swap(&state->flags, TASK_ENDED, 0) == TASK_ENDED;
}

/* Are system calls traced now? See calls_epoch. */
static __always_inline bool calls_seen(uint32_t epoch)
{
	return !(epoch & 1);
}

/* Is the thread in a system call whose begin was seen, and whose end will be? */
static __always_inline bool call_is_open(const struct task_state *state)
{
	uint32_t epoch = calls_epoch;

	return state->start && state->epoch == epoch && calls_seen(epoch);
}

/* Reads what belongs together; false if a writer on another CPU was at it meanwhile. */
static __always_inline bool process_gc_get(volatile struct process_state *state, uint64_t *begin,
					   uint64_t *total)
{
	uint32_t sequence = state->sequence;

	*begin = state->gc_begin;
	*total = state->gc_total;
	return !(sequence & 1) && sequence == state->sequence;
}

/*
 * Collection time of a process up to `now`, the running collection included.
 * After three attempts what there is has to do. Not inlined, as all global
 * functions here: the verifier checks such a function once and not at every
 * path to it. No loop either: Linux 6.1 refuses some that clang makes
 * ("back-edge from insn").
 */
__noinline uint64_t process_gc_time_read(uint32_t process, uint64_t now)
{
	volatile struct process_state *state = bpf_map_lookup_elem(&processes, &process);
	uint64_t begin = 0, total = 0;

	if (!state)
		return 0;
	if (!process_gc_get(state, &begin, &total) && !process_gc_get(state, &begin, &total))
		process_gc_get(state, &begin, &total);
	return total + (begin && now > begin ? now - begin : 0);
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

/* Page faults of a thread so far. */
static __always_inline void task_faults(struct task_struct *task, struct task_faults *out)
{
	out->minor = BPF_CORE_READ(task, min_flt);
	out->major = BPF_CORE_READ(task, maj_flt);
}

/* A thread begins to be recorded: what it used before is not reported. */
static __always_inline void task_begins(struct task_struct *task, struct task_state *state)
{
	task_faults(task, &state->faults);
	state->faults_reported = state->faults;
	state->ran = task_ran(task);
}

/* Sets the start of the running collection; what ran until `now` goes to the total. */
static __always_inline void process_gc_set(struct process_state *state, uint64_t begin,
					   uint64_t now)
{
	volatile struct process_state *shared = state;
	uint64_t old = shared->gc_begin;

	__sync_fetch_and_add(&state->sequence, 1);
	if (old && now > old)
		shared->gc_total += now - old;
	shared->gc_begin = begin;
	__sync_fetch_and_add(&state->sequence, 1);
}

/* Which of the thread's open collections is of this heap; their number if none is. */
static __always_inline uint32_t task_gc_find(const struct task_state *task, uint64_t heap)
{
	UNROLL
	for (uint32_t i = 0; i < COLLECTING_MAX; i++)
		if (i < task->collecting && task->open[i].heap == heap)
			return i;
	return task->collecting;
}

/* The thread's open collections end, but for the first `kept`. */
static __always_inline void process_gc_leave(struct task_state *task, uint32_t kept, uint64_t now)
{
	struct process_state *state = bpf_map_lookup_elem(&processes, &task->process);
	uint32_t ended = task->collecting - kept;

	if (!ended)
		return;
	task->collecting = kept;
	if (state && __sync_fetch_and_sub(&state->depth, ended) == ended)
		process_gc_set(state, 0, now);
}

/*
 * A collection of the process began. Those of several heaps may overlap: the
 * time counts once, from the first begin to the last end. One of the same heap
 * cannot be under way: its end was lost, so it ends here. `late`: it began before
 * now.
 */
static __always_inline void process_gc_enter(struct task_state *task, uint64_t heap, uint64_t began,
					     bool late)
{
	struct process_state *state = bpf_map_lookup_elem(&processes, &task->process);
	uint32_t depth;

	process_gc_leave(task, task_gc_find(task, heap), began);
	collections_seen = 1;
	depth = *(volatile uint32_t *)&task->collecting;
	if (depth >= COLLECTING_MAX)
		return;
	task->open[depth].heap = heap;
	task->open[depth].late = late;
	task_faults(bpf_get_current_task_btf(), &task->open[depth].faults);
	task->collecting = depth + 1;
	if (state && __sync_fetch_and_add(&state->depth, 1) == 0)
		process_gc_set(state, began, began);
}

/*
 * The collection of this heap ends, and what began inside of it; the faults of the
 * thread meanwhile go to gc_faults. An end without a begin, which came before the
 * recording did, is none.
 */
static __always_inline void process_gc_end(struct task_state *task, uint64_t heap, uint64_t now)
{
	uint32_t at = task_gc_find(task, heap);

	task->gc_faults.minor = task->gc_faults.major = 0;
	task->gc_late = 0;
	if (at < task->collecting && at < COLLECTING_MAX) {
		task_faults(bpf_get_current_task_btf(), &task->gc_faults);
		task->gc_faults.minor -= task->open[at].faults.minor;
		task->gc_faults.major -= task->open[at].faults.major;
		task->gc_late = task->open[at].late;
	}
	process_gc_leave(task, at, now);
}

#endif
