/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/* target.bpf.c: looks for the threads that a recording begins with, and for what joins a cgroup. */
/*
 * The recorder runs the iterator until a turn finds nothing new: a thread that
 * one not yet known made behind the iterator's back is found by the next turn,
 * and those of known threads are told of by process_fork().
 */
#include "task.h"

/* What the thread's state is to be; 0: it is no target. */
static __always_inline uint32_t target_flags(struct task_struct *task, uint32_t proc_pid)
{
	struct target_entry *entry;

	if (config.whole) {
		if (proc_pid == config.recorder || (config.cgroup && !task_in_cgroup(task)))
			return 0;
		return TASK_ACTIVE;
	}
	entry = bpf_map_lookup_elem(&targets, &proc_pid);
	return entry ? entry->flags : 0;
}

SEC("iter/task")
int target_look(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	struct target_entry *entry;
	uint32_t proc_pid, flags, process;

	if (!task)
		return 0;
	recorder_remember();
	proc_pid = task_proc_id(task->group_leader);
	flags = target_flags(task, proc_pid);
	if (!flags)
		return 0;
	process = task_meet(task, flags);
	entry = bpf_map_lookup_elem(&targets, &proc_pid);
	if (!entry || !process)
		return 0;
	entry->process = process;
	entry->pid = task->tgid;
	entry->threads++;
	return 0;
}

/* Told of the first thread only; the recorder looks for the others. */
SEC("tp_btf/cgroup_attach_task")
int BPF_PROG(target_moved, struct cgroup *to, const char *path, struct task_struct *leader)
{
	if (!recording || !task_in_cgroup(leader))
		return 0;
	task_meet(leader, TASK_ACTIVE);
	__sync_fetch_and_add(&processes_moved, 1);
	return 0;
}
