/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/* syscall.h: counts and times a system call that ended, and decides whether it gets a record. */
#ifndef GCPROF_SYSCALL_H
#define GCPROF_SYSCALL_H

#include "ceiling.h"
#include "kernel_place.h"
#include "shares.h"
#include "stack.h"
#include "syscall_args.h"
#include "viewer.h"

#define SYSCALL_COMPAT_BIT (1u << 31)
#define ERRNO_MAX          4095

/* task_state.gc_ns if the call began untraced: unknown, so that no overlap is counted. */
#define SYSCALL_UNBEGUN (~0ull)

/* Number of the argument that is a path, from 1; 0: none. */
const volatile uint8_t syscall_paths[SYSCALL_NUMBERS] = {
#define SYSCALL_ARGS(number, name, a, b, c) \
	[number] = ARG_##a == ARG_PATH ? 1 : ARG_##b == ARG_PATH ? 2 : ARG_##c == ARG_PATH ? 3 : 0,
#include "syscall_args_x86_64.def"
#undef SYSCALL_ARGS
};

static const struct syscall_total syscall_total_zero;

/* Of syscall_totals. The recorder subtracts those that it removes. */
volatile struct shares totals_shares = {0};

/* Creates totals, of the share of the current user. */
__noinline int syscall_total_create(uint32_t process, uint32_t number)
{
	/* Linux 6.1 takes no key that a caller points to. */
	const struct syscall_key key = {process, number};
	uint32_t owner = share_owner(user_payer(bpf_get_current_uid_gid()));
	struct syscall_total *total;

	if (!share_take(&totals_shares, owner, config.whole ? TOTALS_WHOLE : TOTALS_MAX))
		return -1;
	if (!bpf_map_update_elem(&syscall_totals, &key, &syscall_total_zero, BPF_NOEXIST)) {
		total = bpf_map_lookup_elem(&syscall_totals, &key);
		if (total) {
			total->owner = owner;
			return 0;
		}
	}
	share_return(&totals_shares, owner);
	return -1;
}

/* The totals of a call, created on first use. */
static __always_inline struct syscall_total *syscall_total_get(const struct task_state *state)
{
	struct syscall_key key = {
		.process = state->process,
		.number = state->number | (state->compat ? SYSCALL_COMPAT_BIT : 0),
	};
	struct syscall_total *total = bpf_map_lookup_elem(&syscall_totals, &key);

	if (total)
		return total;
	syscall_total_create(key.process, key.number);
	return bpf_map_lookup_elem(&syscall_totals, &key);
}

/* Not inlined, because each attempt has three outcomes. */
__noinline int syscall_total_raise(uint64_t *longest, uint64_t duration)
{
	if (!longest)
		return 0;
	UNROLL
	for (int attempt = 0; attempt < 4; attempt++) {
		uint64_t max = *(volatile uint64_t *)longest;
		if (duration <= max)
			break;
		if (__sync_val_compare_and_swap(longest, max, duration) == max)
			break;
	}
	return 0;
}

static __always_inline bool syscall_is_error(int64_t result)
{
	return result < 0 && result >= -ERRNO_MAX;
}

/* Since the begin of a call. Other CPUs' clocks may be ahead a bit. */
static __always_inline uint64_t syscall_since(uint64_t start, uint64_t now)
{
	return now > start ? now - start : 0;
}

/* Sets the overlap of the call with collections. */
static __always_inline void syscall_overlap(const struct task_state *state,
					    struct syscall_done *done)
{
	done->gc_ns = process_gc_time(state->process, done->now);
	done->gc_ns = done->gc_ns > state->gc_ns ? done->gc_ns - state->gc_ns : 0;
	if (done->gc_ns > done->duration)
		done->gc_ns = done->duration;
	if (done->gc_ns && process_gc_is_of(state->process, done->thread))
		done->flags |= SYSCALL_COLLECTOR;
	if (state->compat)
		done->flags |= SYSCALL_COMPAT;
}

/* Adds the call to the totals. */
static __always_inline void syscall_add(const struct task_state *state, struct syscall_done *done)
{
	struct syscall_total *total;
	uint32_t bucket;

	syscall_overlap(state, done);
	/* From memory, so that the verifier does not follow a path for each of its values. */
	done->bucket = syscall_bucket(done->duration);
	total = syscall_total_get(state);
	if (!total) {
		loss_count(LOSS_SYSCALL_TOTALS);
		return;
	}
	__sync_fetch_and_add(&total->count, 1);
	__sync_fetch_and_add(&total->total_ns, done->duration);
	if (syscall_is_error(done->result))
		__sync_fetch_and_add(&total->errors, 1);
	if (done->gc_ns) {
		__sync_fetch_and_add(&total->gc_count, 1);
		__sync_fetch_and_add(&total->gc_ns, done->gc_ns);
	}
	if (config.waits && state->waits.call_count) {
		__sync_fetch_and_add(&total->waits, state->waits.call_count);
		__sync_fetch_and_add(&total->wait_ns, state->waits.call_ns);
		if (state->waits.call_max > total->wait_max)
			syscall_total_raise(&total->wait_max, state->waits.call_max);
	}
	bucket = *(volatile uint32_t *)&done->bucket;
	if (bucket < SYSCALL_BUCKETS)
		__sync_fetch_and_add(&total->histogram[bucket], 1);
	if (done->duration > total->max_ns)
		syscall_total_raise(&total->max_ns, done->duration);
}

/* `short_ns` applies only to users who want all calls; others set a threshold themselves. */
static __always_inline bool syscall_is_long(const struct syscall_done *done)
{
	if (config.syscalls != SYSCALLS_ALL)
		return done->duration >= config.syscall_slow_ns;
	return done->duration >= short_ns && (done->duration >= config.syscall_slow_ns ||
					      done->gc_ns || (done->flags & SYSCALL_COLLECTOR));
}

/*
 * Long calls, and calls that overlap a collection, nearly always get a record: thousands of threads
 * can make more of them than the recorder can read. Others get one up to the rate. Returns how many
 * calls the record stands for; 0: no record.
 */
static __always_inline uint32_t syscall_wanted(const struct task_state *state,
					       const struct syscall_done *done)
{
	uint32_t stands = 0;

	if (state->gc_ns == SYSCALL_UNBEGUN) {
		if (config.syscalls == SYSCALLS_ALL)
			loss_count(LOSS_SYSCALL_UNBEGUN);
		return 0;
	}
	if (config.syscalls < SYSCALLS_SLOW)
		return 0;
	if (syscall_is_long(done)) {
		stands = ceiling_draw(CEILING_LONG, config.long_rate, done->now);
		if (!stands)
			loss_count(LOSS_LONG_CEILING);
		return stands;
	}
	if (config.syscalls == SYSCALLS_SLOW)
		return 0;
	if (config.syscall_rate)
		stands = ceiling_draw(CEILING_SYSCALL, short_rate, done->now);
	if (!stands)
		loss_add_here(LOSS_SYSCALL_CEILING, 1);
	return stands;
}

/* Copies the call's path argument. The memory may have changed since the call, but rarely does. */
static __always_inline uint32_t syscall_path(struct scratch *scratch,
					     const struct task_state *state)
{
	uint32_t which = syscall_paths[state->number & (SYSCALL_NUMBERS - 1)];
	uint64_t address;
	int bytes;

	if (!which || state->compat)
		return 0;
	address = which == 1 ? state->args[0] : which == 2 ? state->args[1] : state->args[2];
	bytes = scratch_string(scratch, (const void *)address, 1);
	return bytes > 0 ? bytes : 0;
}

/* `denied`: the viewer gets no arguments, and only the result's error. */
static __always_inline void syscall_fill(struct event_syscall *event,
					 const struct task_state *state,
					 const struct syscall_done *done, bool denied)
{
	const bool args = config.syscall_args && !denied;

	__builtin_memset(&event->stack, 0, sizeof(event->stack));
	event->duration = done->duration;
	event->gc_ns = done->gc_ns;
	event->result = denied && !syscall_is_error(done->result) ? 0 : done->result;
	event->args[0] = args ? state->args[0] : 0;
	event->args[1] = args ? state->args[1] : 0;
	event->args[2] = args ? state->args[2] : 0;
	event->number = state->number;
	event->flags = done->flags;
	event->path_size = 0;
	event->stands = done->stands;
}

static __always_inline void syscall_record(struct task_state *state,
					   const struct syscall_done *done,
					   const struct pt_regs *regs)
{
	bool denied = viewer_is_denied(bpf_get_current_task_btf());
	struct scratch *scratch = scratch_take();
	struct event_syscall *event;
	uint64_t fiber = 0;

	if (!scratch)
		return;
	event = (struct event_syscall *)scratch->data;
	emit_header(&event->header, EVENT_syscall, 0, state, done->now);
	if (regs && fibers_known)
		event->header.fiber = fiber_find(state, &fiber);
	syscall_fill(event, state, done, denied);
	scratch->size = sizeof(*event);
	if (regs && config.syscall_args && !denied)
		event->path_size = syscall_path(scratch, state);
	if (regs && done->duration >= config.syscall_stack_ns &&
	    (fiber != FIBER_IDLE || !config.syscall_stack_ns)) {
		event->flags |= SYSCALL_STACK;
		place_put_longest(scratch, &event->stack);
		regs_user(regs, &scratch->regs);
		stack_user(scratch, state);
		if (stack_is_copied(scratch))
			regs_user_rest(regs, &scratch->regs);
	}
	stack_emit(scratch, &ring_syscall, LOSS_SYSCALL_RING);
}

/*
 * Ends the open call of the current thread, `task`. `regs` are its user registers; NULL where they
 * are meaningless.
 */
static __always_inline void syscall_end(struct task_struct *task, struct task_state *state,
					int64_t result, uint32_t flags, const struct pt_regs *regs)
{
	struct syscall_done *done = &state->done;

	done->now = bpf_ktime_get_ns();
	done->duration = syscall_since(state->start, done->now);
	done->result = result;
	done->flags = flags;
	done->thread = task->pid;
	state->start = 0;
	syscall_add(state, done);
	done->stands = syscall_wanted(state, done);
	if (done->stands)
		syscall_record(state, done, regs);
}

/* Ends the open call of another thread, which is still in it. */
static __always_inline void syscall_end_of(struct task_struct *task, struct task_state *state,
					   uint64_t now)
{
	struct syscall_done done = {
		.now = now,
		.duration = syscall_since(state->start, now),
		.flags = SYSCALL_UNFINISHED,
		.stands = 1,
		.thread = BPF_CORE_READ(task, pid),
	};
	struct event_syscall *event;

	state->start = 0;
	syscall_add(state, &done);
	if (config.syscalls == SYSCALLS_COUNT)
		return;
	event = EMIT_RESERVE(ring_syscall, event_syscall, LOSS_SYSCALL_RING);
	if (!event)
		return;
	emit_header(&event->header, EVENT_syscall, sizeof(*event), state, done.now);
	event->header.pid = BPF_CORE_READ(task, tgid);
	event->header.tid = BPF_CORE_READ(task, pid);
	syscall_fill(event, state, &done, viewer_is_denied(task));
	emit_submit(event, &ring_syscall);
}

#endif
