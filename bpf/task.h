/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/* task.h: registers threads: their state, their numbers in namespaces, their cgroup. */
#ifndef GCPROF_TASK_H
#define GCPROF_TASK_H

#include "call_cpu.h"
#include "kernel_place.h"
#include "shares.h"
#include "user.h"

#define LEVELS_MAX 32 /* of pid namespaces: the kernel's limit; of cgroups checked */

/* --- numbers in namespaces --------------------------------------------------- */

static __always_inline void upid_read(struct pid *pid, uint32_t level, struct upid *out)
{
	uint64_t at = (uint64_t)pid + bpf_core_field_offset(struct pid, numbers);

	bpf_probe_read_kernel(out, sizeof(*out), (void *)(at + level * sizeof(*out)));
}

/* The thread's number in its own, innermost namespace. */
static __always_inline uint32_t task_ns_id(struct task_struct *task)
{
	struct pid *pid = BPF_CORE_READ(task, thread_pid);
	struct upid upid = {};

	if (!pid)
		return 0;
	upid_read(pid, BPF_CORE_READ(pid, level), &upid);
	return upid.nr;
}

/* The thread's number in the recorder's namespace; 0: not visible there. */
static __always_inline uint32_t task_proc_id(struct task_struct *task)
{
	struct pid *pid = BPF_CORE_READ(task, thread_pid);
	uint32_t level = recorder_level;
	struct upid upid = {};

	if (!pid || level > LEVELS_MAX || BPF_CORE_READ(pid, level) < level)
		return 0;
	upid_read(pid, level, &upid);
	return (uint64_t)upid.ns == recorder_namespace ? upid.nr : 0;
}

/* The user who started it, whatever rights its file gave it, or to whom that user belongs. */
static __always_inline uint32_t task_user(struct task_struct *task)
{
	return user_payer(BPF_CORE_READ(task, real_cred, uid.val));
}

/* Remembers the recorder's user and pid namespace; the current thread is the recorder. */
static __always_inline void recorder_remember(void)
{
	struct pid *pid = BPF_CORE_READ(bpf_get_current_task_btf(), thread_pid);
	struct upid upid = {};

	recorder_user = (uint32_t)bpf_get_current_uid_gid();
	if (!pid)
		return;
	recorder_level = BPF_CORE_READ(pid, level);
	upid_read(pid, recorder_level, &upid);
	recorder_namespace = (uint64_t)upid.ns;
}

/* The recorder itself, or one of its child processes: only recorded if named. */
static __always_inline bool task_is_recorder(struct task_struct *task)
{
	return task_proc_id(BPF_CORE_READ(task, group_leader)) == config.recorder ||
	       task_proc_id(BPF_CORE_READ(task, real_parent, group_leader)) == config.recorder;
}

/* --- cgroups ----------------------------------------------------------------- */

/*
 * The step receives offsets: relocations inside a function of its own would be done even if no
 * program that calls it is loaded, at a millisecond per structure.
 */
struct cgroup_search {
	uint64_t first; /* of the cgroup's array of ancestors */
	uint32_t node;  /* offset of a cgroup's node */
	uint32_t id;    /* offset of the id in a node */
	uint64_t found;
};

static long cgroup_search_step(uint32_t level, struct cgroup_search *search)
{
	uint64_t ancestor = 0, node = 0, id = 0;

	bpf_probe_read_kernel(&ancestor, sizeof(ancestor),
			      (void *)(search->first + level * sizeof(ancestor)));
	if (!ancestor)
		return 0;
	bpf_probe_read_kernel(&node, sizeof(node), (void *)(ancestor + search->node));
	bpf_probe_read_kernel(&id, sizeof(id), (void *)(node + search->id));
	search->found = id == config.cgroup;
	return (long)search->found;
}

/* Is the thread in the recorded cgroup, or in one below it? */
static __always_inline bool task_in_cgroup(struct task_struct *task)
{
	struct cgroup *cgroup = BPF_CORE_READ(task, cgroups, dfl_cgrp);
	struct cgroup_search search = {
		.node = bpf_core_field_offset(struct cgroup, kn),
		.id = bpf_core_field_offset(struct kernfs_node, id),
	};
	uint32_t level;

	if (!cgroup)
		return 0;
	search.first = (uint64_t)cgroup + bpf_core_field_offset(struct cgroup, ancestors);
	level = BPF_CORE_READ(cgroup, level);
	bpf_loop(level < LEVELS_MAX ? level + 1 : LEVELS_MAX, cgroup_search_step, &search, 0);
	return search.found != 0;
}

/* --- processes --------------------------------------------------------------- */

/* Entries of `processes`. */
volatile struct shares process_shares = {0};

/* Has it an entry? Tables by process have entries of such processes only. */
static __always_inline bool process_begin(uint32_t process, uint32_t threads, uint32_t user)
{
	uint64_t now = bpf_ktime_get_ns();
	struct process_state state = {.owner = share_owner(user),
				      .threads = threads,
				      .mapped = now,
				      .program = now,
				      .titled = now - TITLE_NS + TITLE_FIRST_NS};

	if (share_take(&process_shares, state.owner, config.processes)) {
		if (!bpf_map_update_elem(&processes, &process, &state, BPF_NOEXIST))
			return 1;
		share_return(&process_shares, state.owner);
	}
	loss_count(LOSS_PROCESS_STATE);
	return 0;
}

static __always_inline void process_add_thread(uint32_t process)
{
	struct process_state *state = bpf_map_lookup_elem(&processes, &process);

	if (state)
		__sync_fetch_and_add(&state->threads, 1);
}

/* 1 if that was the last thread of its process. */
static __always_inline uint32_t process_remove_thread(uint32_t process)
{
	struct process_state *state = bpf_map_lookup_elem(&processes, &process);

	if (!state || __sync_fetch_and_sub(&state->threads, 1) != 1)
		return 0;
	share_return(&process_shares, state->owner);
	bpf_map_delete_elem(&processes, &process);
	return 1;
}

/* --- threads ----------------------------------------------------------------- */

/* A fork and an iterator may reach the same new thread: one of them may initialize it. */
static __always_inline bool task_claim(struct task_state *state)
{
	return __sync_val_compare_and_swap(&state->flags, 0, TASK_MEETING) == 0;
}

/* Stops recording the thread, except for its CPU time; false if that was done before. */
static __always_inline bool task_end(struct task_state *state)
{
	return __sync_val_compare_and_swap(&state->flags, TASK_ACTIVE, TASK_ENDED) == TASK_ACTIVE;
}

/* The process index of a thread group, stored with its leader; assigned if there is none. */
static __always_inline uint32_t task_process(struct task_struct *task, struct task_state *leader)
{
	uint32_t fresh, known = *(volatile uint32_t *)&leader->process;

	if (known)
		return known;
	fresh = __sync_fetch_and_add(&next_process, 1);
	known = __sync_val_compare_and_swap(&leader->process, 0, fresh);
	if (known)
		return known;
	process_begin(fresh, 0, task_user(task));
	return fresh;
}

static __always_inline void task_emit(struct task_struct *task, const struct task_state *state)
{
	struct task_struct *leader = BPF_CORE_READ(task, group_leader);
	struct event_task *event = EMIT_RESERVE(ring_process, event_task, LOSS_PROCESS_RING);

	if (!event)
		return;
	emit_header(&event->header, EVENT_task, sizeof(*event), state, bpf_ktime_get_ns());
	event->header.pid = task->tgid;
	event->header.tid = task->pid;
	event->ns_pid = task_ns_id(leader);
	event->ns_tid = task_ns_id(task);
	event->proc_pid = task_proc_id(leader);
	event->kernel = !!(task->flags & PF_KTHREAD);
	event->user = task_user(task);
	event->reserved = 0;
	__builtin_memset(event->name, 0, sizeof(event->name));
	bpf_probe_read_kernel_str(event->name, sizeof(event->name), task->comm);
	emit_submit(event, &ring_process);
}

/* A thread that sleeps when registered counts as waiting from now on. */
static __always_inline void task_meet_wait(struct task_struct *task, struct task_waits *wait)
{
	int64_t number;

	if (!config.waits || !BPF_CORE_READ(task, __state) || (task->flags & PF_KTHREAD))
		return;
	number = call_number((const struct pt_regs *)bpf_task_pt_regs(task));
	wait->reason = number >= 0 ? WAIT_CALL : WAIT_FAULT;
	wait->number = number;
	wait->flags = number >= 0 ? WAIT_IN_CALL : 0;
	wait->queued = task_queued(task);
	wait->switches = BPF_CORE_READ(task, nvcsw) + BPF_CORE_READ(task, nivcsw);
	wait->since = bpf_ktime_get_ns();
}

/*
 * Starts tracing a thread that no fork announced. Returns its process's index; 0 if it is exiting
 * or there is no memory. An exiting thread may have passed process_exit() before it had a state;
 * the program that ends the state accounts for it.
 *
 * Pointers are read with BPF_CORE_READ() where their address suffices: for each one that is
 * followed directly, the verifier searches all of the kernel's BTF.
 */
static __always_inline uint32_t task_meet(struct task_struct *task, uint32_t flags)
{
	struct task_state *leader, *state;
	uint32_t process;

	if (task->flags & PF_EXITING)
		return 0;
	leader = bpf_task_storage_get(&tasks, task->group_leader, NULL,
				      BPF_LOCAL_STORAGE_GET_F_CREATE);
	state = bpf_task_storage_get(&tasks, task, NULL, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!leader || !state) {
		loss_count(LOSS_TASK_STATE);
		return 0;
	}
	process = task_process(task, leader);
	if (!task_claim(state))
		return process;
	place_make(task);
	state->process = process;
	state->epoch = calls_epoch - 1; /* the begin of a call that it is in was not seen */
	task_begins(task, state);
	cpu_begin(task, state);
	task_meet_wait(task, &state->waits);
	process_add_thread(process);
	__sync_fetch_and_add(&threads_met, 1);
	if (flags & TASK_ACTIVE) {
		user_meet(task);
		task_emit(task, state);
	}
	*(volatile uint32_t *)&state->flags = flags;
	if ((*(volatile uint32_t *)&task->flags & PF_EXITING) && task_end(state))
		process_remove_thread(process);
	return process;
}

#endif
