/* SPDX-License-Identifier: BSD-2-Clause */
/* program_rows.c: one row for all processes of the same name. */
#include "thread_rows.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../../util/map.h"
#include "../figures.h"
#include "../world/world.h"

/* Row numbers by name and by process. */
struct builder {
	struct model *model;
	struct map *names;
	size_t *of_processes;
};

/* The row of a process, created if needed; -ENOMEM. */
static int64_t find_row(struct builder *builder, const struct process *process)
{
	struct model *model = builder->model;
	const char *name = process->name ? process->name : "";
	bool added;
	uint64_t *row = map_put_string(builder->names, name, strlen(name), &added);

	if (!row)
		return -ENOMEM;
	if (added) {
		*row = model->n_programs++;
		model->programs[*row] =
			(struct model_program){.name = process->name, .unrecorded = NEEDS_ALLOC};
	}
	return (int64_t)*row;
}

static size_t count_processes(const struct tasks *tasks)
{
	size_t count = 0;

	for (uint64_t id = 1; id < tasks->processes.limit; id++)
		count += tasks_find_process(tasks, id) != NULL;
	return count;
}

static int add_processes(struct builder *builder, const struct tasks *tasks)
{
	for (uint64_t id = 1; id < tasks->processes.limit; id++) {
		const struct process *process = tasks_find_process(tasks, id);
		struct model_program *program;
		int64_t row;

		if (!process)
			continue;
		row = find_row(builder, process);
		if (row < 0)
			return -ENOMEM;
		builder->of_processes[id] = (size_t)row;
		program = &builder->model->programs[row];
		program->pid = process->pid;
		program->processes++;
		program->unrecorded &= process->sampled ? 0 : UINT32_MAX;
		builder->model->gc.processes += process->pauses > 0;
		program->pauses += process->pauses;
		program->pause_ns += process->pause_ns;
		program->syscalls += process->calls;
		program->syscall_ns += process->call_ns;
	}
	return 0;
}

static void add_threads(struct builder *builder, const struct tasks *tasks)
{
	for (uint64_t id = 1; id < tasks->threads.limit; id++) {
		const struct thread *thread = tasks_find_thread(tasks, id);
		struct model_program *program;

		if (!thread)
			continue;
		program = &builder->model->programs[builder->of_processes[thread->process]];
		program->threads++;
		program->cpu_samples += thread->cpu_samples;
		program->gc_samples += thread->gc_samples;
		program->cpu_ns += (double)tasks_cpu_ns(thread);
		program->gc_cpu_ns += (double)tasks_gc_cpu_ns(thread);
		program->alloc_samples += thread->alloc_samples;
		program->minor_faults += thread->minor_faults;
		program->major_faults += thread->major_faults;
		program->faults += thread->minor_faults + thread->major_faults;
		tally_merge(&program->allocated, &thread->alloc);
	}
}

static int by_time(const void *a, const void *b)
{
	const struct model_program *x = a, *y = b;

	if (x->cpu_ns != y->cpu_ns)
		return x->cpu_ns < y->cpu_ns ? 1 : -1;
	if (x->alloc.value != y->alloc.value)
		return x->alloc.value < y->alloc.value ? 1 : -1;
	return x->pid < y->pid ? -1 : x->pid > y->pid;
}

static bool is_empty(const struct model_program *program)
{
	return program->cpu_ns <= 0 && !program->alloc_samples && !program->pauses &&
	       program->syscalls <= 0;
}

/* With a filter, programs without any selected event are dropped. */
static void drop_empty(struct model *model)
{
	size_t kept = 0;

	for (size_t i = 0; i < model->n_programs; i++)
		if (!is_empty(&model->programs[i]))
			model->programs[kept++] = model->programs[i];
	model->n_programs = kept;
}

static void finish_rows(struct model *model)
{
	for (size_t i = 0; i < model->n_programs; i++) {
		struct model_program *program = &model->programs[i];

		program->alloc = tally_estimate(&program->allocated);
	}
	qsort(model->programs, model->n_programs, sizeof(*model->programs), by_time);
}

int program_rows_finish(struct world *world)
{
	const struct tasks *tasks = &world->tasks;
	struct builder builder = {.model = world->model};
	int error = -ENOMEM;

	builder.names = map_create(MAP_STRING_KEYS);
	builder.of_processes = calloc(tasks->processes.limit + 1, sizeof(*builder.of_processes));
	world->model->programs =
		calloc(count_processes(tasks) + 1, sizeof(*world->model->programs));
	if (!builder.names || !builder.of_processes || !world->model->programs)
		goto out;
	error = add_processes(&builder, tasks);
	if (error)
		goto out;
	add_threads(&builder, tasks);
	if (world->filtered)
		drop_empty(world->model);
	finish_rows(world->model);
out:
	map_free(builder.names);
	free(builder.of_processes);
	return error;
}
