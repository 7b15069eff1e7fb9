/* SPDX-License-Identifier: BSD-2-Clause */
/* tasks.c: processes and threads. */
#include "tasks.h"

#include <errno.h>
#include <string.h>

void tasks_init(struct tasks *tasks)
{
	memset(tasks, 0, sizeof(*tasks));
	tasks->processes.item_size = sizeof(struct process);
	tasks->threads.item_size = sizeof(struct thread);
}

void tasks_free(struct tasks *tasks)
{
	dense_free(&tasks->processes);
	dense_free(&tasks->threads);
}

int tasks_process(struct tasks *tasks, const struct record_process *record)
{
	struct process *process = dense_define(&tasks->processes, record->id);

	if (!process)
		return -errno;
	if (process->defined || record->recording >= RECORDINGS_MAX)
		return -EBADMSG;
	process->defined = true;
	process->pid = record->pid;
	process->recording = record->recording;
	process->time = record->time;
	process->parent = record->parent < UINT32_MAX ? (uint32_t)record->parent : 0;
	return 0;
}

int tasks_thread(struct tasks *tasks, const struct record_thread *record)
{
	struct thread *thread = dense_define(&tasks->threads, record->id);

	if (!thread)
		return -errno;
	if (thread->defined || !tasks_find_process(tasks, record->process))
		return -EBADMSG;
	thread->defined = true;
	thread->process = (uint32_t)record->process;
	thread->tid = record->tid;
	return 0;
}

void tasks_begin(struct tasks *tasks, const struct record_fork *record)
{
	const struct thread *maker = tasks_find_thread(tasks, record->thread);
	struct thread *child = tasks_find_thread(tasks, record->child);

	if (!child)
		return;
	child->begin = record->time;
	if (maker && !child->name)
		child->name = maker->name;
}

void tasks_name_processes(struct tasks *tasks)
{
	for (uint64_t id = 1; id < tasks->threads.limit; id++) {
		const struct thread *thread = tasks_find_thread(tasks, id);
		struct process *process;

		if (!thread || !thread->name)
			continue;
		process = tasks_find_process(tasks, thread->process);
		if (!process->name || thread->tid == process->pid)
			process->name = thread->name;
	}
}

uint64_t tasks_wall_ns(const struct tasks *tasks, const struct model_run *run,
		       const struct thread *thread)
{
	const struct process *process = tasks_find_process(tasks, thread->process);
	uint64_t begin = thread->begin ? thread->begin : process->time;
	uint64_t wall = thread->end > begin ? thread->end - begin : 0;

	return wall -
	       paused_between(run->paused, run->n_paused, process->recording, begin, thread->end);
}

const struct process *tasks_runtime(const struct tasks *tasks, const struct process *process)
{
	enum { ANCESTORS_MAX = 16 };

	for (int i = 0; process && i < ANCESTORS_MAX; i++) {
		if (process->listed)
			return process;
		process = tasks_find_process(tasks, process->parent);
	}
	return NULL;
}
