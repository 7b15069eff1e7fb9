/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/* process.bpf.c: who is followed: fork, exec, exit and names of threads. */
/*
 * The state of a thread lies in its task storage: it is found without a search,
 * needs no pid (they are used again), and the kernel frees it with the thread.
 * The recorder gives the first thread its state while that waits to be
 * released; from there it spreads by fork.
 */
#include "syscall.h"

static __always_inline void process_begin(uint32_t process)
{
	struct process_state state = {.threads = 1};

	if (bpf_map_update_elem(&processes, &process, &state, BPF_NOEXIST))
		loss_count(LOSS_PROCESS_STATE);
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
	bpf_map_delete_elem(&processes, &process);
	return 1;
}

/* The memory of a forked process is a copy: what is mapped where holds for it, too. */
static __always_inline void process_share_rows(uint32_t parent, uint32_t child)
{
	struct unwind_of *of = bpf_map_lookup_elem(&unwind_of, &parent);
	struct unwind_of copy;

	if (!of)
		return;
	copy = *of;
	bpf_map_update_elem(&unwind_of, &child, &copy, BPF_ANY);
}

static __always_inline void process_forget_rows(uint32_t process)
{
	bpf_map_delete_elem(&unwind_of, &process);
}

SEC("tp_btf/sched_process_fork")
int BPF_PROG(process_fork, struct task_struct *parent, struct task_struct *child)
{
	struct task_state *state = filter_active();
	bool thread = child->tgid == parent->tgid;
	struct task_state start = {.flags = TASK_ACTIVE};
	struct event_fork *event;

	if (!state)
		return 0;
	start.image = state->image;
	start.process = thread ? state->process : __sync_fetch_and_add(&next_process, 1);
	/* A copy of the memory has the shadow stack where it was; a thread begins without one. */
	if (child->mm != parent->mm)
		start.anchor = state->anchor;
	if (!bpf_task_storage_get(&tasks, child, &start, BPF_LOCAL_STORAGE_GET_F_CREATE)) {
		loss_count(LOSS_TASK_STATE);
		return 0;
	}
	if (thread) {
		process_add_thread(start.process);
	} else {
		process_begin(start.process);
		process_share_rows(parent->tgid, child->tgid);
	}
	event = EMIT_RESERVE(ring_process, event_fork, LOSS_PROCESS_RING);
	if (!event)
		return 0;
	emit_header(&event->header, EVENT_fork, sizeof(*event), state, bpf_ktime_get_ns());
	event->child_pid = child->tgid;
	event->child_tid = child->pid;
	event->child_process = start.process;
	event->kind = thread ? FORK_THREAD : FORK_PROCESS;
	emit_submit(event, &ring_process);
	return 0;
}

static __always_inline void process_emit_comm(const struct task_state *state, uint64_t now,
					      const void *name)
{
	struct event_comm *event = EMIT_RESERVE(ring_process, event_comm, LOSS_PROCESS_RING);

	if (!event)
		return;
	emit_header(&event->header, EVENT_comm, sizeof(*event), state, now);
	__builtin_memset(event->name, 0, sizeof(event->name));
	bpf_probe_read_kernel_str(event->name, sizeof(event->name), name);
	emit_submit(event, &ring_process);
}

/* What belonged to the old program ends with it. */
static __always_inline void process_new_image(struct task_state *state, uint64_t now)
{
	struct process_state *process = bpf_map_lookup_elem(&processes, &state->process);

	state->anchor = 0;
	state->collecting = 0;
	state->image = state->renamed ? state->renamed : now;
	if (!process)
		return;
	process->depth = 0;
	if (process->gc_begin)
		process_gc_set(process, 0, now);
}

/*
 * The kernel tells of an exec when all is done, but has mapped the new program
 * before. The record bears the time at which the thread was renamed, which it
 * always is, right after the old memory went and before the new was filled: so
 * sorted by time the mappings of the new program follow its exec record.
 */
SEC("tp_btf/sched_process_exec")
int BPF_PROG(process_exec, struct task_struct *task, int old_tid, struct linux_binprm *binary)
{
	struct task_state *state = filter_followed();
	uint64_t now = bpf_ktime_get_ns();
	struct scratch *scratch;
	struct event_exec *event;
	int bytes;
	bool first;

	if (!state)
		return 0;
	first = !(state->flags & TASK_ACTIVE);
	state->flags = TASK_ACTIVE;
	process_new_image(state, now);
	if (state->renamed)
		now = state->renamed;
	scratch = scratch_take();
	if (!scratch)
		return 0;
	event = (struct event_exec *)scratch->data;
	emit_header(&event->header, EVENT_exec, 0, state, now);
	event->old_tid = old_tid;
	scratch->size = sizeof(*event);
	bytes = scratch_string(scratch, binary->filename, 0);
	event->name_size = bytes < 0 ? 0 : bytes;
	scratch_emit(scratch, &ring_process, LOSS_PROCESS_RING);
	if (first)
		process_emit_comm(state, now, task->comm);
	return 0;
}

SEC("tp_btf/sched_process_exit")
int BPF_PROG(process_exit, struct task_struct *task)
{
	struct task_state *state = filter_active();
	struct event_exit *event;
	uint64_t now;
	uint32_t last;

	if (!state)
		return 0;
	if (state->start)
		syscall_end(state, 0, SYSCALL_UNFINISHED, NULL);
	now = bpf_ktime_get_ns();
	UNROLL
	for (int depth = 0; depth < 4 && state->collecting; depth++)
		process_gc_leave(state, now);
	last = process_remove_thread(state->process);
	if (last)
		process_forget_rows(task->tgid);
	state->flags = 0;
	event = EMIT_RESERVE(ring_process, event_exit, LOSS_PROCESS_RING);
	if (!event)
		return 0;
	emit_header(&event->header, EVENT_exit, sizeof(*event), state, now);
	event->status = task->exit_code;
	event->last = last;
	emit_submit(event, &ring_process);
	return 0;
}

SEC("tp_btf/task_rename")
int BPF_PROG(process_rename, struct task_struct *task, const char *name)
{
	struct task_state *state = filter_followed();
	uint64_t now;

	/* A thread may rename its siblings; whoever it is, the record must be about itself. */
	if (!state || task != bpf_get_current_task_btf())
		return 0;
	now = bpf_ktime_get_ns();
	state->renamed = now;
	if (state->flags & TASK_ACTIVE)
		process_emit_comm(state, now, name);
	return 0;
}
