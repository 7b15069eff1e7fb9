/* SPDX-License-Identifier: BSD-2-Clause */
/* spent.c: the CPU time of collectors, by process and part, from timer samples. */
#include "spent.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "../../util/map.h"
#include "../world/world.h"

#define PRIOR_SAMPLES 50

/* What a function does, as far as lists say. */
struct role {
	uint8_t known; /* it was looked for */
	uint8_t part;  /* enum gc_part */
	uint8_t work;  /* enum work_kind */
};

/* For the sums. */
struct adder {
	struct world *world;
	struct role *of_frames;
};

void spent_free(struct spent *spent)
{
	free(spent->items);
	map_free(spent->index);
}

int spent_cpu(struct spent *spent, struct world *world, uint64_t kind,
	      const struct record_cpu *record)
{
	const struct thread *thread = tasks_find_thread(&world->tasks, record->thread);
	struct process *process = tasks_find_process(&world->tasks, thread->process);
	const struct spent_key key = {record->stack, (uint32_t)record->thread, (uint16_t)kind,
				      (uint16_t)time_of_mode(record)};
	uint64_t *number;

	if (!tasks_runtime(&world->tasks, process) || !record->stack) {
		process->charging.spent.kinds[kind] += kind ? (double)record->ns : 0;
		return 0;
	}
	if (!spent->index)
		spent->index = map_create(sizeof(key));
	number = spent->index ? map_put(spent->index, &key, NULL) : NULL;
	if (!number ||
	    array_reserve(&spent->items, &spent->capacity, spent->count, sizeof(*spent->items)) < 0)
		return -ENOMEM;
	if (!*number) {
		spent->items[spent->count++] = (struct spent_cost){.key = key};
		*number = spent->count;
	}
	spent->items[*number - 1].samples += record_cpu_ticks(record);
	spent->items[*number - 1].ns += record->ns;
	return 0;
}

void spent_summary(struct process *process, const struct record_gc_summary *record)
{
	process->charging.spent.kinds[record->kind] += (double)record->total_ns;
}

/* That of the innermost of its functions that has one. */
static struct role role_of_frame(const struct adder *adder, uint32_t id)
{
	const struct tree *tree = &adder->world->tree;
	const struct runtimes *runtimes = &adder->world->runtimes;
	const struct frame *frame = tree_frame(tree, id);
	struct role *role = &adder->of_frames[id];
	enum gc_part part;

	if (role->known)
		return *role;
	*role = (struct role){.known = 1, .part = GC_PARTS};
	for (uint32_t i = frame ? frame->first_symbol : 0; i; i = tree->symbols[i].next) {
		part = runtimes_part(runtimes, tree->symbols[i].name);
		if (part < GC_PARTS)
			role->part = (uint8_t)part;
		if (!role->work)
			role->work = (uint8_t)runtimes_work(runtimes, tree->symbols[i].name);
	}
	return *role;
}

/* What a thread did beside a pause, by its functions. */
static void move_time(struct thread *thread, const struct spent_cost *cost, enum work_kind work)
{
	uint64_t *from = &thread->time[cost->key.mode];
	uint64_t ns = cost->ns < *from ? cost->ns : *from;

	if (cost->key.kind || work == WORK_PROGRAM)
		return;
	*from -= ns;
	thread->time[work == WORK_COLLECTOR ? TIME_COLLECTOR : TIME_COMPILER] += ns;
}

static void add(const struct adder *adder, const struct spent_cost *cost)
{
	const struct tree *tree = &adder->world->tree;
	struct thread *thread = tasks_find_thread(&adder->world->tasks, cost->key.thread);
	struct gc_spent *to =
		&tasks_find_process(&adder->world->tasks, thread->process)->charging.spent;
	enum work_kind work = WORK_PROGRAM;
	unsigned part = GC_PARTS;
	struct role role;

	for (const struct stack *node = tree_node(tree, cost->key.stack); node;
	     node = tree_node(tree, node->parent)) {
		role = role_of_frame(adder, node->frame);
		part = part == GC_PARTS ? role.part : part;
		work = role.work ? (enum work_kind)role.work : work;
	}
	move_time(thread, cost, work);
	if (!cost->key.kind && work != WORK_COLLECTOR)
		return;
	if (part == GC_PARTS) {
		to->kinds[cost->key.kind] += (double)cost->ns;
		return;
	}
	to->parts[part] += (double)cost->ns;
	to->samples[part] += (double)cost->samples;
}

/* Summarized pauses may include time without a CPU; the parts come from timer samples. */
static void limit(struct world *world, double most)
{
	double parts = 0, factor;

	for (int part = 0; part < GC_PARTS; part++)
		parts += (double)world->model->gc.parts_ns[part];
	factor = fmax(most - parts, 0) / fmax(world->model->gc.spent_ns - parts, 1);
	for (uint64_t id = 1; id < world->tasks.processes.limit; id++) {
		struct process *process = tasks_find_process(&world->tasks, id);
		double *kinds = process ? process->charging.spent.kinds : NULL;

		for (int kind = 0; kinds && kind <= GCPROF_GC_STOP; kind++)
			kinds[kind] *= factor;
	}
	world->model->gc.spent_ns = most;
}

/* The sums over all processes. */
static void sum_up(struct world *world)
{
	struct model *model = world->model;
	double all = 0;

	for (uint64_t id = 1; id < world->tasks.processes.limit; id++) {
		const struct process *process = tasks_find_process(&world->tasks, id);
		const struct gc_spent *spent = process ? &process->charging.spent : NULL;

		for (int part = 0; spent && part < GC_PARTS; part++) {
			model->gc.parts_ns[part] += (uint64_t)spent->parts[part];
			model->gc.parts_samples += (uint64_t)spent->samples[part];
			all += spent->parts[part];
		}
		for (int kind = 0; spent && kind <= GCPROF_GC_STOP; kind++)
			all += spent->kinds[kind];
	}
	model->gc.spent_ns = all;
}

int spent_finish(const struct spent *spent, struct world *world)
{
	struct adder adder = {.world = world};

	adder.of_frames = calloc(world->tree.frames.limit + 1, sizeof(*adder.of_frames));
	if (!adder.of_frames)
		return -ENOMEM;
	for (size_t i = 0; i < spent->count; i++)
		add(&adder, &spent->items[i]);
	free(adder.of_frames);
	sum_up(world);
	if (!world->filtered && world->model->gc.spent_ns > (double)world->model->cpu.on_cpu_ns)
		limit(world, (double)world->model->cpu.on_cpu_ns);
	return 0;
}

struct copying spent_copying(const struct process *process)
{
	const struct gc_spent *spent = &process->charging.spent;
	double copying = spent->parts[GC_COPYING] + spent->parts[GC_CARDS];
	double young = copying + spent->parts[GC_ROOTS];
	double samples =
		spent->samples[GC_COPYING] + spent->samples[GC_CARDS] + spent->samples[GC_ROOTS];

	if (young <= 0)
		return (struct copying){-1, 0};
	return (struct copying){(copying / young * samples + PRIOR_SAMPLES / 2.0) /
					(samples + PRIOR_SAMPLES),
				samples + PRIOR_SAMPLES};
}
