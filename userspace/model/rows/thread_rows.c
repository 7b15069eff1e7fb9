/* SPDX-License-Identifier: BSD-2-Clause */
/* thread_rows.c: thread names, and one row per active thread. */
#include "thread_rows.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../../util/path_base.h"
#include "../figures.h"
#include "../time/thread_time.h"
#include "../world/world.h"

int thread_rows_comm(struct world *world, const struct record_comm *record)
{
	struct thread *thread = tasks_find_thread(&world->tasks, record->thread);
	const char *name = tree_text(&world->tree, record->name);

	if (!thread || !name)
		return -EBADMSG;
	thread->name = name;
	return 0;
}

int thread_rows_title(struct world *world, const struct record_title *record)
{
	const struct thread *thread = tasks_find_thread(&world->tasks, record->thread);
	const char *title = tree_text(&world->tree, record->text);

	if (!thread || !title)
		return -EBADMSG;
	tasks_find_process(&world->tasks, thread->process)->title = title;
	return 0;
}

/* The kernel names the thread after the file; a comm record may follow later. */
int thread_rows_exec(struct world *world, const struct record_exec *record)
{
	struct thread *thread = tasks_find_thread(&world->tasks, record->thread);
	const char *path = tree_text(&world->tree, record->path);

	if (!thread)
		return -EBADMSG;
	if (path)
		thread->name = path_base(path);
	thread->executed = path ? record->path : 0;
	return 0;
}

static int by_time(const void *a, const void *b)
{
	const struct model_thread *x = a, *y = b;

	if (x->cpu_ns != y->cpu_ns)
		return x->cpu_ns < y->cpu_ns ? 1 : -1;
	if (x->alloc_bytes != y->alloc_bytes)
		return x->alloc_bytes < y->alloc_bytes ? 1 : -1;
	return x->tid < y->tid ? -1 : x->tid > y->tid;
}

/* Sets the thread's recorded time and its time off the CPU. */
static void add_times(const struct world *world, const struct thread *thread,
		      struct model_thread *row)
{
	if (!thread->ended)
		return;
	row->ended = true;
	row->waits_known = thread->waits_known;
	row->queue_known = thread->queue_known;
	row->queued_ns = thread->queued_ns;
	row->wall_ns = tasks_wall_ns(&world->tasks, &world->model->run, thread);
	row->minor_faults = thread->minor_faults;
	row->major_faults = thread->major_faults;
	for (int i = 0; i < WAIT_KINDS; i++) {
		row->waits[i] = thread->waits[i];
		row->wait_ns[i] = thread->wait_ns[i];
		row->off_cpu_ns += thread->wait_ns[i];
	}
	/* What was not traced is known from the scheduler's accounting. */
	if (thread->waits_part && row->wall_ns > (uint64_t)row->cpu_ns + row->off_cpu_ns)
		row->off_cpu_ns = row->wall_ns - (uint64_t)row->cpu_ns;
	if (row->off_cpu_ns > row->wall_ns)
		row->wall_ns = row->off_cpu_ns;
	row->on_cpu_ns = row->wall_ns - row->off_cpu_ns;
	memcpy(row->time, thread->time, sizeof(row->time));
	time_divide(row->wall_ns, row->time);
	row->serves = time_serves(row->wall_ns, row->time);
}

/* Marks the processes that have a sampler of allocation; all where that is not known. */
static void mark_sampled(struct world *world)
{
	const struct model *model = world->model;
	struct tasks *tasks = &world->tasks;

	for (uint64_t id = 1; id < tasks->processes.limit; id++) {
		struct process *process = tasks_find_process(tasks, id);

		if (process)
			process->sampled = !model->n_runtimes;
	}
	for (size_t i = 0; i < model->n_runtimes; i++)
		tasks_find_process(tasks, model->runtimes[i].process)->sampled |=
			model->runtimes[i].has_sampler;
	for (uint64_t id = 1; id < tasks->threads.limit; id++) {
		const struct thread *thread = tasks_find_thread(tasks, id);

		if (thread && thread->alloc_samples)
			tasks_find_process(tasks, thread->process)->sampled = true;
	}
}

int thread_rows_finish(struct world *world)
{
	struct model *model = world->model;

	model->threads = calloc(world->tasks.threads.limit + 1, sizeof(*model->threads));
	if (!model->threads)
		return -ENOMEM;
	mark_sampled(world);
	for (uint64_t id = 1; id < world->tasks.threads.limit; id++) {
		const struct thread *thread = tasks_find_thread(&world->tasks, id);

		const struct process *process;

		if (!thread)
			continue;
		process = tasks_find_process(&world->tasks, thread->process);
		model->threads[model->n_threads++] = (struct model_thread){
			.id = id,
			.process = thread->process,
			.unrecorded = process->sampled ? 0 : NEEDS_ALLOC,
			.name = thread->name,
			.title = process->title,
			.tid = thread->tid,
			.pid = process->pid,
			.cpu_samples = thread->cpu_samples,
			.gc_samples = thread->gc_samples,
			.alloc_samples = thread->alloc_samples,
			.cpu_ns = (double)tasks_cpu_ns(thread),
			.gc_cpu_ns = (double)tasks_gc_cpu_ns(thread),
			.alloc_bytes = thread->alloc_bytes,
			.alloc = tally_estimate(&thread->alloc),
			.samples = thread->cpu_samples + thread->alloc_samples,
		};
		add_times(world, thread, &model->threads[model->n_threads - 1]);
	}
	qsort(model->threads, model->n_threads, sizeof(*model->threads), by_time);
	return 0;
}
