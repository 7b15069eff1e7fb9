/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/* target.bpf.c: finds the threads that exist when a recording begins, and those that join a
 * cgroup. */
/*
 * The recorder repeats the iteration until a pass finds nothing new. A thread that an unknown
 * thread created behind the iterator is found by the next pass; process_fork() reports those of
 * known threads.
 */
#include "preempt.h"
#include "task.h"

/* A thread of a named process, or of any but the recorder's own. */
static __always_inline void target_found(struct task_struct *task, uint32_t proc_pid)
{
	struct target_entry *entry = bpf_map_lookup_elem(&targets, &proc_pid);
	uint32_t process;

	if (config.whole ? task_is_recorder(task) : !entry)
		return;
	process = task_meet(task, entry ? entry->flags : TASK_ACTIVE);
	if (!entry || !process)
		return;
	entry->process = process;
	entry->pid = task->tgid;
	entry->threads++;
}

SEC("iter/task")
int target_iterate(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;

	if (!task)
		return 0;
	recorder_remember();
	target_found(task, task_proc_id(BPF_CORE_READ(task, group_leader)));
	return 0;
}

SEC("iter/task")
int cgroup_iterate(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;

	if (!task)
		return 0;
	recorder_remember();
	if (task_in_cgroup(task))
		target_found(task, task_proc_id(BPF_CORE_READ(task, group_leader)));
	return 0;
}

static __always_inline void cgroup_joins(struct task_struct *leader)
{
	if (!recording || !task_in_cgroup(leader) || task_is_recorder(leader))
		return;
	task_meet(leader, TASK_ACTIVE);
	__sync_fetch_and_add(&processes_moved, 1);
}

/* Fires for the first thread only; the recorder finds the others. */
SEC("tp_btf/cgroup_attach_task")
int BPF_PROG(cgroup_moved, struct cgroup *to, const char *path, struct task_struct *leader)
{
	return PREEMPT_OFF(cgroup_joins(leader));
}

static __always_inline void cgroup_gets(struct task_struct *child)
{
	if (recording && !filter_active() && task_in_cgroup(child) && !task_is_recorder(child))
		task_meet(child, TASK_ACTIVE);
}

/* A process outside may create a child directly in the cgroup. */
SEC("tp_btf/task_newtask")
int BPF_PROG(cgroup_born, struct task_struct *child)
{
	return PREEMPT_OFF(cgroup_gets(child));
}
