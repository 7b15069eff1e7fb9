/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/* locked.bpf.c: lists the programs whose memory map is locked. */
#include "task.h"

/* Reports a program once: by its first thread, or, if that has ended, by all others. */
SEC("iter/task")
int locked_iterate(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task, *leader;
	struct mm_struct *mm;
	uint32_t pid;

	if (!task)
		return 0;
	leader = BPF_CORE_READ(task, group_leader);
	mm = BPF_CORE_READ(task, mm);
	if (!mm || (task != leader && BPF_CORE_READ(leader, mm)))
		return 0;
	/* Real-time kernels have another lock. */
	if (!bpf_core_field_exists(mm->mmap_lock.count) ||
	    !BPF_CORE_READ(mm, mmap_lock.count.counter))
		return 0;
	pid = task_proc_id(leader);
	if (pid)
		bpf_seq_write(ctx->meta->seq, &pid, sizeof(pid));
	return 0;
}
