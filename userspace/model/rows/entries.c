/* SPDX-License-Identifier: BSD-2-Clause */
/* entries.c: costs by the function that a thread or fiber begins with. */
/*
 * If a runtime moves its fibers between threads, a table of threads says little. But each fiber
 * began with a function of the program. That function is the outermost on its stacks, except for
 * those that start all fibers and threads.
 */
#include "entries.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../world/arena.h"
#include "../world/fibers.h"
#include "../world/world.h"

/* Functions that start threads and programs, and call the program's entry functions. */
static const char *const starters[] = {
	"__clone3",
	"__libc_start_call_main",
	"__libc_start_main",
	"__libc_start_main_impl",
	"_start",
	"clone",
	"clone3",
	"java.lang.Thread.run",
	"java.lang.Thread.runWith",
	"runtime.goexit",
	"runtime.goexit.abi0",
	"runtime.main",
	"runtime.mstart",
	"runtime.mstart.abi0",
	"runtime.mstart0",
	"runtime.mstart1",
	"start_thread",
	"thread_native_entry",
};

/* Runtimes that move their fibers between threads. */
static const char *const movers[] = {"go"};

static int by_text(const void *a, const void *b)
{
	return strcmp(a, *(const char *const *)b);
}

/* Ignores the argument list in Java's names. */
static bool is_starter(const char *name)
{
	char plain[64];
	size_t size = strcspn(name, "(");

	if (size >= sizeof(plain))
		return false;
	memcpy(plain, name, size);
	plain[size] = 0;
	return bsearch(plain, starters, sizeof(starters) / sizeof(*starters), sizeof(*starters),
		       by_text);
}

/*
 * Row of the function that the stack began with, plus 1; 0: none. *begun: its caller is one of
 * the starters.
 */
static uint32_t entry_of(const struct world *world, const bool *starts, uint32_t stack, bool *begun)
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

			*begun = starts[row];
			entry = *begun ? entry : row + 1;
		}
	}
	return entry;
}

static void add_cost(const struct world *world, const struct cost *cost, struct model_entry *entry)
{
	const struct stack_life *life = tree_life_of(&world->tree, cost);
	const struct cost_rest *rest = tree_rest_of(&world->tree, cost);

	entry->cpu_samples += cost->cpu_samples;
	entry->cpu_ns += (double)cost->cpu_ns;
	entry->alloc_bytes += life->bytes.value;
	entry->gc_ns += life->gc_ns;
	entry->syscall_ns += (double)rest->syscall_ns;
	entry->off_cpu_ns += (double)rest->off_cpu_ns;
}

static bool costs_something(const struct model_entry *entry)
{
	return entry->fibers || entry->cpu_ns > 0 || entry->alloc_bytes > 0 || entry->gc_ns > 0 ||
	       entry->syscall_ns > 0 || entry->off_cpu_ns > 0;
}

/* A stack that the runtime switched halfway does not show the entry function. */
static void count_fiber(const struct world *world, const bool *starts,
			const struct fiber_stacks *fiber, struct model_entry *all)
{
	uint32_t entry = 0;
	bool begun = false;

	for (uint32_t i = 0; i < fiber->count && !begun; i++) {
		uint32_t found =
			entry_of(world, starts, tree_shown(&world->tree, fiber->stacks[i]), &begun);

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

static bool threads_move(const struct model *model)
{
	for (size_t i = 0; i < model->n_runtimes; i++)
		for (size_t j = 0; j < sizeof(movers) / sizeof(*movers); j++)
			if (strcmp(model->runtimes[i].name, movers[j]) == 0)
				return true;
	return false;
}

int entries_finish(struct world *world, const struct fibers *fibers)
{
	const struct functions *functions = &world->functions;
	const struct tree *tree = &world->tree;
	struct model_entry *all = calloc(functions->n_rows + 1, sizeof(*all));
	bool *starts = calloc(functions->n_rows + 1, sizeof(*starts)), begun = false;
	int err = -ENOMEM;

	if (all && starts) {
		all[0].name = "(none)";
		for (size_t i = 0; i < functions->n_rows; i++) {
			all[i + 1].name = functions->rows[i].name;
			all[i + 1].module = functions->rows[i].module;
			starts[i] = is_starter(functions->rows[i].name);
		}
		for (size_t i = 0; i < tree->n_costs; i++)
			if (!tree->unselected || i != tree->unselected)
				add_cost(world, &tree->costs[i],
					 &all[entry_of(world, starts, tree->costs[i].stack,
						       &begun)]);
		for (size_t i = 0; i < fibers_count(fibers); i++)
			count_fiber(world, starts, fibers_get(fibers, i), all);
		err = show(world->model, all, functions->n_rows + 1);
		world->model->threads_move = threads_move(world->model);
	}
	free(all);
	free(starts);
	return err;
}
