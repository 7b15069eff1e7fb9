/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/* title.h: command lines of processes, which many servers overwrite with their current activity. */
/*
 * Read by the process's own threads, because a read of /proc/PID/cmdline from outside would block
 * forever on a page that a file system never delivers.
 */
#ifndef GCPROF_TITLE_H
#define GCPROF_TITLE_H

#include "emit.h"
#include "task.h"
#include "viewer.h"

/* Fills in a record if there is something to read. */
static __always_inline void title_read(struct event_title *event)
{
	struct mm_struct *mm = BPF_CORE_READ(bpf_get_current_task_btf(), mm);
	uint64_t begin, end, size;
	char last = 0;

	if (!mm)
		return;
	begin = BPF_CORE_READ(mm, arg_start);
	end = BPF_CORE_READ(mm, arg_end);
	size = BPF_CORE_READ(mm, env_end) - begin;
	if (end <= begin)
		return;
	size = opaque(size < sizeof(event->text) ? size : sizeof(event->text));
	if (size > sizeof(event->text))
		return;
	if (bpf_probe_read_user(event->text, size, (const void *)begin) ||
	    bpf_probe_read_user(&last, sizeof(last), (const void *)(end - 1)))
		return;
	event->overwritten = last != 0;
	event->size = end - begin < sizeof(event->text) ? end - begin : sizeof(event->text);
}

static __always_inline void title_emit(const struct task_state *state, uint32_t user, uint64_t now)
{
	struct event_title *event;

	event = EMIT_RESERVE(ring_process, event_title, LOSS_TITLE);
	if (!event)
		return;
	emit_header(&event->header, EVENT_title, sizeof(*event), state, now);
	event->user = user;
	event->reserved = event->size = event->overwritten = 0;
	__builtin_memset(event->text, 0, sizeof(event->text));
	if (!config.shut_out || !viewer_is_denied(bpf_get_current_task_btf()))
		title_read(event);
	emit_submit(event, &ring_process);
}

/* Reads the title of the current thread's process again, if it is old enough. */
static __always_inline void title_renew(const struct task_state *state, uint64_t now)
{
	struct process_state *process = bpf_map_lookup_elem(&processes, &state->process);

	if (!process || now < process->titled + TITLE_NS)
		return;
	process->titled = now;
	title_emit(state, task_user(bpf_get_current_task_btf()), now);
}

#endif
