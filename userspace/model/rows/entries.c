/* SPDX-License-Identifier: BSD-2-Clause */
/* entries.c: costs by the function that a thread or fiber begins with. */
/*
 * If a runtime moves its fibers between threads, a table of threads says little. But each fiber
 * began with a function of the program. That function is the outermost on its stacks, except for
 * those that start all fibers and threads.
 */
#include "thread_rows.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../traits.h"
#include "../world/arena.h"
#include "../world/fibers.h"
#include "../world/world.h"
#include "function_sums.h"

/*
 * Row of the function that the stack began with, plus 1; 0: none. *begun: its caller is one of
 * the starters.
 */
static uint32_t entry_of(const struct world *world, uint32_t stack, bool *begun)
{
	const struct functions *functions = &world->functions;
	const struct tree *tree = &world->tree;
	uint32_t entry = 0;

	*begun = false;
	for (uint32_t id = stack; id; id = tree_node(tree, id)->parent) {
		const struct frame *frame = tree_frame(tree, tree_node(tree, id)->frame);

		if (frame->runtime == RUNTIME_KERNEL)
			continue;
		/* The first is the outermost of inlined functions. */
		for (uint32_t i = frame->n_functions; i--;) {
			uint32_t row = functions->of_frames[frame->first_function + i];

			*begun = functions->sums[row].starter;
			entry = *begun ? entry : row + 1;
		}
	}
	return entry;
}

static void add_sums(struct model_entry *entry, const struct sums *sums)
{
	entry->cpu_samples += sums->cpu_samples;
	entry->cpu_ns += (double)sums->cpu_ns;
	entry->alloc_bytes += sums->bytes.value;
	for (int pacing = 0; pacing < GC_PACINGS; pacing++)
		for (int part = 0; part < CHARGES; part++)
			entry->gc_ns += sums->caused.parts[pacing][part];
	entry->syscall_ns += (double)sums->syscall_ns;
	entry->off_cpu_ns += (double)sums->off_cpu_ns;
}

static bool costs_something(const struct model_entry *entry)
{
	return entry->fibers || entry->cpu_ns > 0 || entry->alloc_bytes > 0 || entry->gc_ns > 0 ||
	       entry->syscall_ns > 0 || entry->off_cpu_ns > 0;
}

/* A stack that the runtime switched halfway does not show the entry function. */
static void count_fiber(const struct world *world, const struct fiber_stacks *fiber,
			struct model_entry *all)
{
	uint32_t entry = 0;
	bool begun = false;

	for (uint32_t i = 0; i < fiber->count && !begun; i++) {
		uint32_t found =
			entry_of(world, tree_shown(&world->tree, fiber->stacks[i]), &begun);

		/* One that consists of starters, as where a goroutine makes a thread, says nothing.
		 */
		begun &= found != 0;
		entry = begun || !entry ? found : entry;
	}
	all[entry].fibers++;
}

static int most_first(const void *a, const void *b)
{
	const struct model_entry *x = a, *y = b;

	if (x->cpu_ns != y->cpu_ns)
		return x->cpu_ns < y->cpu_ns ? 1 : -1;
	if (x->alloc_bytes != y->alloc_bytes)
		return x->alloc_bytes < y->alloc_bytes ? 1 : -1;
	if (x->off_cpu_ns != y->off_cpu_ns)
		return x->off_cpu_ns < y->off_cpu_ns ? 1 : -1;
	return strcmp(x->name, y->name);
}

static int show(struct model *model, struct model_entry *all, size_t count)
{
	size_t kept = 0;

	for (size_t i = 0; i < count; i++)
		if (costs_something(&all[i]))
			all[kept++] = all[i];
	model->entries = arena_alloc(model->arena, (kept + 1) * sizeof(*all));
	if (!model->entries)
		return -ENOMEM;
	memcpy(model->entries, all, kept * sizeof(*all));
	qsort(model->entries, kept, sizeof(*all), most_first);
	model->n_entries = kept;
	return 0;
}

int entries_finish(struct world *world, const struct fibers *fibers)
{
	const struct functions *functions = &world->functions;
	const struct cost *no_stack = &world->tree.costs[0];
	struct model_entry *all = calloc(functions->n_rows + 1, sizeof(*all));
	struct sums none = functions->sums[functions->n_rows].begun;
	int err;

	if (!all)
		return -ENOMEM;
	sums_add_time(&none, &world->tree, no_stack);
	sums_add_life(&none, &world->tree, no_stack);
	all[0].name = "(none)";
	add_sums(&all[0], &none);
	for (size_t i = 0; i < functions->n_rows; i++) {
		all[i + 1].name = functions->rows[i].name;
		all[i + 1].module = functions->rows[i].module;
		add_sums(&all[i + 1], &functions->sums[i].begun);
	}
	for (size_t i = 0; i < fibers_count(fibers); i++)
		count_fiber(world, fibers_get(fibers, i), all);
	err = show(world->model, all, functions->n_rows + 1);
	world->model->threads_move = has_trait(world->model, MOVES_FIBERS);
	free(all);
	return err;
}
