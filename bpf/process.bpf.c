/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/* process.bpf.c: the target set: fork, exec, exit and thread names. */
/*
 * The state of a thread is in its task storage: it is found without a lookup by pid (pids are
 * reused), and the kernel frees it with the thread. target_iterate() creates it for the initial
 * threads; forks pass it on.
 */
#include "ceiling.h"
#include "preempt.h"
#include "syscall.h"
#include "task.h"
#include "text.h"
#include "title.h"
#include "wait.h"

#define CLONE_VM    0x100
#define CLONE_VFORK 0x4000

/* A forked process is a copy, so its parent's table is valid for it. */
static __always_inline void process_share_rows(uint32_t parent, uint32_t child)
{
	struct unwind_of *of = bpf_map_lookup_elem(&unwind_of, &parent);
	struct unwind_of copy;

	if (!of)
		return;
	copy = *of;
	bpf_map_update_elem(&unwind_of, &child, &copy, BPF_ANY);
}

/* The same for its interpreters. */
static __always_inline void process_share_interpreters(uint32_t parent, uint32_t child)
{
	struct interpreters *found = bpf_map_lookup_elem(&interpreters, &parent);

	if (found)
		bpf_map_update_elem(&interpreters, &child, found, BPF_ANY);
}

static __always_inline void process_forget_rows(uint32_t process)
{
	bpf_map_delete_elem(&unwind_of, &process);
	bpf_map_delete_elem(&interpreters, &process);
}

static __always_inline void process_emit_fork(const struct task_state *parent,
					      struct task_struct *child,
					      const struct task_state *state, uint32_t kind)
{
	/* Before the call: Linux 6.1 would lose the result of a check across it. */
	struct task_struct *leader = BPF_CORE_READ(child, group_leader);
	uint64_t now = bpf_ktime_get_ns();
	struct event_fork *event;

	if (!ceiling_keeps_process(CEILING_FORK, sizeof(*event), now, LOSS_PROCESS_CEILING))
		return;
	event = EMIT_RESERVE(ring_process, event_fork, LOSS_PROCESS_RING);
	if (!event)
		return;
	emit_header(&event->header, EVENT_fork, sizeof(*event), parent, now);
	event->child_pid = child->tgid;
	event->child_tid = child->pid;
	event->child_process = state->process;
	event->kind = kind;
	event->child_ns_pid = task_ns_id(leader);
	event->child_ns_tid = task_ns_id(child);
	event->child_proc_pid = task_proc_id(leader);
	event->user = task_user(child);
	emit_submit(event, &ring_process);
}

static __always_inline void process_follow(const struct task_state *parent,
					   struct task_struct *maker, struct task_struct *child,
					   uint64_t flags)
{
	bool thread = child->tgid == maker->tgid;
	struct task_state *state =
		bpf_task_storage_get(&tasks, child, NULL, BPF_LOCAL_STORAGE_GET_F_CREATE);

	if (!state) {
		loss_count(LOSS_TASK_STATE);
		return;
	}
	if (!task_claim(state))
		return;
	place_make(child);
	state->image = parent->image;
	state->epoch = calls_epoch;
	state->process = thread ? parent->process : __sync_fetch_and_add(&next_process, 1);
	/* A copy of the memory has the shadow stack at the same address; a thread begins without
	 * one. */
	if (BPF_CORE_READ(child, mm) != BPF_CORE_READ(maker, mm))
		state->anchor = parent->anchor;
	state->provider = parent->provider;
	if (thread) {
		process_add_thread(state->process);
	} else if (process_begin(state->process, 1, task_user(child))) {
		process_share_rows(maker->tgid, child->tgid);
		process_share_interpreters(maker->tgid, child->tgid);
	}
	/* It is runnable from now on. */
	if (config.waits) {
		state->waits.since = bpf_ktime_get_ns();
		state->waits.reason = WAIT_PREEMPTED;
	}
	process_emit_fork(parent, child, state,
			  thread                                           ? FORK_THREAD
			  : (flags & (CLONE_VM | CLONE_VFORK)) == CLONE_VM ? FORK_SHARING
									   : FORK_PROCESS);
	*(volatile uint32_t *)&state->flags = TASK_ACTIVE;
}

static __always_inline void process_forks(struct task_struct *parent, struct task_struct *child,
					  uint64_t flags)
{
	struct task_state *state = filter_active();

	if (!state)
		return;
	if (config.follow_children || child->tgid == parent->tgid)
		process_follow(state, parent, child, flags);
}

/* sched_process_fork is silent about threads that the kernel makes for a process: io_uring's and
 * vhost's workers. */
SEC("tp_btf/task_newtask")
int BPF_PROG(process_fork, struct task_struct *child, unsigned long flags)
{
	return PREEMPT_OFF(process_forks(bpf_get_current_task_btf(), child, flags));
}

static __always_inline void process_emit_comm(const struct task_state *state, uint64_t now,
					      const void *name)
{
	struct event_comm *event;

	if (!ceiling_keeps_process(CEILING_NAME, sizeof(*event), now, LOSS_NAME_CEILING))
		return;
	event = EMIT_RESERVE(ring_process, event_comm, LOSS_PROCESS_RING);
	if (!event)
		return;
	emit_header(&event->header, EVENT_comm, sizeof(*event), state, now);
	__builtin_memset(event->name, 0, sizeof(event->name));
	bpf_probe_read_kernel_str(event->name, sizeof(event->name), name);
	emit_submit(event, &ring_process);
}

/* Ends what belonged to the old program. */
static __always_inline void process_new_image(struct task_state *state, uint64_t now)
{
	struct process_state *process = bpf_map_lookup_elem(&processes, &state->process);

	state->anchor = state->whole = 0;
	state->image = state->renamed ? state->renamed : now;
	if (texts_known)
		bpf_map_delete_elem(&stopped_texts, &state->process);
	if (!process)
		return;
	process->mapped = now;
	process->program = state->image;
	process_gc_leave(state->process, 0, now);
}

static __always_inline void process_emit_exec(const struct task_state *state, int old_tid,
					      const struct linux_binprm *binary, uint64_t now)
{
	uint32_t user = task_user(bpf_get_current_task_btf());
	struct scratch *scratch;
	struct event_exec *event;
	int bytes;

	if (!ceiling_keeps_process(CEILING_EXEC, sizeof(*event) + NAME_BYTES_MAX, now,
				   LOSS_PROCESS_CEILING))
		return;
	scratch = scratch_take();
	if (!scratch)
		return;
	event = (struct event_exec *)scratch->data;
	emit_header(&event->header, EVENT_exec, 0, state, now);
	event->old_tid = old_tid;
	scratch->size = sizeof(*event);
	bytes = config.shut_out && viewer_is_denied(bpf_get_current_task_btf())
			? 0
			: scratch_string(scratch, binary->filename, 0);
	event->name_size = bytes < 0 ? 0 : bytes;
	event->user = user;
	event->reserved = 0;
	scratch_emit(scratch, &ring_process, LOSS_PROCESS_RING);
	title_emit(state, user, now);
}

/*
 * The kernel reports an exec at its end, after mapping the new program. The record gets the time of
 * the thread's renaming, which always happens after the old memory is released and before the new
 * program is mapped. Sorted by time, the new mappings therefore follow their exec record.
 */
static __always_inline void process_execs(struct task_struct *task, int old_tid,
					  const struct linux_binprm *binary)
{
	struct task_state *state = filter_followed();
	uint64_t now = bpf_ktime_get_ns();
	bool first;

	if (!state)
		return;
	first = !(state->flags & TASK_ACTIVE);
	state->flags = TASK_ACTIVE;
	process_new_image(state, now);
	user_meet(task);
	if (first) {
		task_begins(task, state);
		cpu_begin(task, state);
	}
	if (state->renamed)
		now = state->renamed;
	process_emit_exec(state, old_tid, binary, now);
	if (first)
		process_emit_comm(state, now, task->comm);
}

SEC("tp_btf/sched_process_exec")
int BPF_PROG(process_exec, struct task_struct *task, int old_tid, struct linux_binprm *binary)
{
	return PREEMPT_OFF(process_execs(task, old_tid, binary));
}

static __always_inline void process_emit_exit(struct task_struct *task,
					      const struct task_state *state, uint32_t last,
					      uint64_t now)
{
	struct event_exit *event;

	if (!ceiling_keeps_process(CEILING_EXIT, sizeof(*event), now, LOSS_PROCESS_CEILING))
		return;
	event = EMIT_RESERVE(ring_process, event_exit, LOSS_PROCESS_RING);
	if (!event)
		return;
	emit_header(&event->header, EVENT_exit, sizeof(*event), state, now);
	event->status = task->exit_code;
	event->last = last;
	emit_submit(event, &ring_process);
}

static __always_inline void process_exits(struct task_struct *task)
{
	struct task_state *state = filter_active();
	uint64_t now;
	uint32_t last;

	if (!state || !task_end(state))
		return;
	if (call_is_open(state))
		syscall_end(task, state, 0, SYSCALL_UNFINISHED, NULL);
	now = bpf_ktime_get_ns();
	user_meet(task);
	if (config.waits && state->waits.ended)
		wait_report(state, NULL, now);
	if (ceiling_keeps_process(CEILING_USAGE, sizeof(struct event_usage), now,
				  LOSS_PROCESS_CEILING))
		usage_emit(task, state, now, 0);
	process_gc_leave(state->process, task->pid, now);
	cpu_add(task, state, now);
	last = process_remove_thread(state->process);
	if (last)
		process_forget_rows(task->tgid);
	process_emit_exit(task, state, last, now);
}

SEC("tp_btf/sched_process_exit")
int BPF_PROG(process_exit, struct task_struct *task)
{
	return PREEMPT_OFF(process_exits(task));
}

static __always_inline void process_new_program(uint32_t id, uint64_t now)
{
	struct process_state *process = bpf_map_lookup_elem(&processes, &id);

	if (process)
		process->program = now;
}

static __always_inline void process_renames(const struct task_struct *task, const char *name)
{
	struct task_state *state = filter_followed();
	uint64_t now;

	/* A thread may rename its siblings, but the record must be about the current thread. */
	if (!state || task != bpf_get_current_task_btf())
		return;
	now = bpf_ktime_get_ns();
	state->renamed = now;
	/* The recorder compares this before and after it reads what is mapped. */
	if (BPF_CORE_READ_BITFIELD(task, in_execve))
		process_new_program(state->process, now);
	if (state->flags & TASK_ACTIVE)
		process_emit_comm(state, now, name);
}

SEC("tp_btf/task_rename")
int BPF_PROG(process_rename, struct task_struct *task, const char *name)
{
	return PREEMPT_OFF(process_renames(task, name));
}
