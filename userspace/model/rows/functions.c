/* SPDX-License-Identifier: BSD-2-Clause */
/* functions.c: one row per function, from the costs of stacks. */
#include "functions.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../util/map.h"
#include "../world/allocating.h"
#include "../world/arena.h"
#include "../world/text.h"
#include "../world/world.h"
#include "function_sums.h"
#include "library.h"

enum {
	ANCESTORS_MAX = 64,
	KEY_MAX = 2 * NAME_SIZE_MAX + 64,
};

struct builder {
	struct world *world;
	struct functions *functions; /* world->functions */
	struct map *index;           /* runtime, user, module or file, name -> row */
};

/* Distinguishes functions of the same name, as does the user whose process brought the module in:
 * another one's may be another file at the same path. Code made at run time has no module. */
static const char *place_of(const struct model_function *function)
{
	if (function->runtime == RUNTIME_MANAGED && function->file)
		return function->file;
	return function->module ? function->module : "";
}

/* The row of a function, created if needed; -ENOMEM. */
static int64_t find_row(struct builder *builder, const struct model_function *function,
			uint64_t user)
{
	char key[KEY_MAX];
	int size = snprintf(key, sizeof(key), "%d %" PRIu64 "%c%s%c%s", function->runtime, user, 0,
			    place_of(function), 0, function->name);
	struct functions *functions = builder->functions;
	bool added;
	uint64_t *row = map_put_string(builder->index, key, (size_t)size, &added);

	if (!row || array_reserve(&functions->rows, &functions->rows_capacity, functions->n_rows,
				  sizeof(*functions->rows)) < 0)
		return -ENOMEM;
	if (added) {
		*row = functions->n_rows;
		functions->rows[functions->n_rows++] = *function;
	}
	/* A program may have a function of the same name. */
	if (!function->work)
		functions->rows[*row].work = WORK_PROGRAM;
	return (int64_t)*row;
}

static const char *print_name(struct arena *arena, const char *prefix, const char *middle,
			      uint64_t number)
{
	size_t size = strlen(prefix) + strlen(middle) + 24;
	char *name = arena_alloc(arena, size);

	if (name)
		snprintf(name, size, "%s%s%llx", prefix, middle, (unsigned long long)number);
	return name;
}

/* Name of code made at run time, by the process that made it. */
static const char *name_generated(const struct world *world, const struct module *module)
{
	const struct process *process = tasks_find_process(&world->tasks, module->generated_by);
	const char *name = process && process->name ? process->name : "?";
	size_t size = sizeof(GENERATED_UNNAMED) + strlen(name);
	char *text = arena_alloc(world->model->arena, size);

	if (text)
		snprintf(text, size, "%s%s", GENERATED_UNNAMED, name);
	return text;
}

static const char *name_unnamed(const struct world *world, const struct frame *frame)
{
	const struct module *module = dense_get(&world->tree.modules, frame->module);
	struct arena *arena = world->model->arena;
	char *name;

	if (frame->runtime == RUNTIME_MANAGED) {
		name = arena_alloc(arena, 40);
		if (name)
			runtimes_unnamed("code", frame->address, name, 40);
		return name;
	}
	if (frame->runtime == RUNTIME_KERNEL)
		return frame->address ? print_name(arena, "[kernel]", "+0x", frame->address)
				      : "[kernel]";
	if (module && module->generated_by)
		return name_generated(world, module);
	if (module && module->base)
		return print_name(arena, module->base, "+0x", frame->address);
	return print_name(arena, "[unknown]", "+0x", frame->address);
}

/* A forked child runs its parent's functions. */
static const struct code_name *find_code(const struct world *world, const struct frame *frame)
{
	uint64_t process = frame->process;

	for (int i = 0; process && i < ANCESTORS_MAX; i++) {
		const struct code_name *code =
			tree_find_code(&world->tree, process, frame->address);
		const struct process *task;

		if (code && code->name)
			return code;
		task = tasks_find_process(&world->tasks, process);
		process = task ? task->parent : 0;
	}
	return NULL;
}

static int add_frame_row(struct builder *builder, struct frame *frame,
			 const struct model_function *function)
{
	const struct module *module = dense_get(&builder->world->tree.modules, frame->module);
	struct functions *functions = builder->functions;
	int64_t row = function->name ? find_row(builder, function, module ? module->user : 0)
				     : -ENOMEM;

	if (row < 0 || array_reserve(&functions->of_frames, &functions->of_frames_capacity,
				     functions->n_of_frames, sizeof(*functions->of_frames)) < 0)
		return -ENOMEM;
	if (!frame->n_functions) {
		frame->first_function = (uint32_t)functions->n_of_frames;
		frame->allocators =
			allocators_of(&builder->world->tree, frame, functions->rows[row].name);
	}
	functions->of_frames[functions->n_of_frames++] = (uint32_t)row;
	frame->n_functions++;
	if (function->runtime != RUNTIME_NATIVE || !is_library_function(function))
		frame->n_own = frame->n_functions;
	return 0;
}

/*
 * How many functions of a frame are shown. If the allocator's fast path is inlined, it counts as
 * a part of the function that allocates.
 */
static size_t count_shown(const struct tree *tree, const struct frame *frame)
{
	size_t n = 0, shown = 0;

	for (uint32_t i = frame->first_symbol; i; i = tree->symbols[i].next) {
		n++;
		if (!is_own_inline(&tree->symbols[i]))
			shown = n;
	}
	return shown ? shown : n;
}

/* Sets a frame's functions: one, or several if calls were inlined. */
static int resolve_frame(struct builder *builder, struct frame *frame)
{
	const struct tree *tree = &builder->world->tree;
	const struct module *module = dense_get(&tree->modules, frame->module);
	struct model_function function = {.runtime = frame->runtime};
	const struct code_name *code;
	bool own = is_own_frame(tree, frame);
	size_t shown = own ? SIZE_MAX : count_shown(tree, frame);
	int error = 0;

	if (frame->runtime == RUNTIME_MANAGED) {
		code = find_code(builder->world, frame);
		function.name = code ? code->name : name_unnamed(builder->world, frame);
		function.module = function.file = code ? code->file : NULL;
		function.line = code ? code->line : 0;
		return add_frame_row(builder, frame, &function);
	}
	if (module && module->generated_by)
		function.runtime = RUNTIME_MANAGED;
	function.module = frame->runtime == RUNTIME_KERNEL ? "[kernel]"
			  : module                         ? module->path
							   : NULL;
	/* Samplers of programs without collections do no work of a collector. */
	if (own && model_gc_count(&builder->world->model->gc))
		function.work = WORK_COLLECTOR;
	for (uint32_t i = frame->first_symbol; i && shown-- && !error; i = tree->symbols[i].next) {
		function.name = tree->symbols[i].name;
		function.file = tree->symbols[i].file;
		/* As of managed functions: a source tells more than where code is made. */
		if (module && module->generated_by && function.file)
			function.module = function.file;
		function.line = tree->symbols[i].begin;
		error = add_frame_row(builder, frame, &function);
	}
	if (!frame->first_symbol) {
		function.name = name_unnamed(builder->world, frame);
		error = add_frame_row(builder, frame, &function);
	}
	return error;
}

/*
 * If a function allocates nothing itself, its row shows the survival of its callees' objects.
 * Functions of a collector or provider keep their work, which is known from their place.
 */
static void fill_row(struct model_function *row, const struct function_sums *sums,
		     const struct model_gc *gc)
{
	const struct sums *total = &sums->total, *self = &sums->self;
	struct caused_figures figures;

	for (int work = 0; work < WORKS; work++)
		if (!row->work && sums->works == 1 << work)
			row->work = (enum work_kind)work;
	row->cpu_samples = total->cpu_samples;
	row->cpu_total_ns = (double)total->cpu_ns;
	row->cpu_self_ns = (double)self->cpu_ns;
	row->alloc_total_bytes = total->bytes.value;
	row->alloc_self_bytes = self->bytes.value;
	row->survived_total_bytes = total->survived.some;
	row->survived_bytes = self->survived.some;
	row->fate_known_total_bytes = total->survived.all;
	row->fate_known_bytes = self->survived.all;
	figures = caused_figures(&self->caused, &gc->paces, &self->bytes, self->survived.some);
	row->gc_self_ns = figures.charged.value;
	figures = caused_figures(&total->caused, &gc->paces, &total->bytes, total->survived.some);
	row->gc_ns = figures.charged;
	row->gc_allocating_ns = figures.allocating;
	row->gc_keeping_ns = figures.keeping;
	row->kept_known = gc->paces.kept_known;
	row->syscall_ns = (double)total->syscall_ns;
	row->syscall_self_ns = (double)self->syscall_ns;
	row->off_cpu_ns = (double)total->off_cpu_ns;
	row->off_cpu_self_ns = (double)self->off_cpu_ns;
	row->faults = total->faults;
	row->faults_self = self->faults;
	row->gc_faults_self = self->gc_faults;
	row->alloc_self = tally_estimate(&self->bytes);
	row->alloc_total = tally_estimate(&total->bytes);
	row->survived =
		share_estimate(row->alloc_self_bytes > 0 ? &self->survived : &total->survived);
}

const char *functions_none(const struct model *model)
{
	static const char *const names[] = {
		[MODEL_FRAMES_ALL] = "(no stack)",
		[MODEL_FRAMES_MANAGED] = "(no managed frames)",
		[MODEL_FRAMES_NATIVE] = "(no native frames)",
	};

	return names[model->frames];
}

/*
 * Adds rows for samples without a stack, so that every column adds up to the total. No frame
 * refers to these rows. If no collection was charged to any function, no function has a figure
 * to which a row of the rest would add something.
 */
static void add_rest(struct world *world)
{
	struct model *model = world->model;
	const struct cost *cost = &world->tree.costs[0];
	const struct stack_life *life = tree_life_of(&world->tree, cost);
	double gc_ns = model->gc.unattributed_ns, cpu_ns = (double)model->cpu.no_samples_ns;
	struct function_sums sums = {0};
	struct model_function *row;

	if (!model->alloc.collected)
		gc_ns = 0;
	if (cost->cpu_samples || life->bytes.value > 0 ||
	    tree_rest_of(&world->tree, cost)->faults) {
		row = &model->functions[model->n_functions++];
		*row = (struct model_function){.name = functions_none(world->model),
					       .runtime = RUNTIME_NATIVE};
		sums_add_time(&sums.total, &world->tree, cost);
		sums_add_life(&sums.total, &world->tree, cost);
		sums.self = sums.total;
		fill_row(row, &sums, &model->gc);
	}
	if (gc_ns > 0 || cpu_ns > 0) {
		row = &model->functions[model->n_functions++];
		*row = (struct model_function){.name = "(no samples)",
					       .runtime = RUNTIME_NATIVE,
					       .cpu_self_ns = cpu_ns,
					       .cpu_total_ns = cpu_ns,
					       .gc_ns = {gc_ns, gc_ns, gc_ns},
					       .gc_allocating_ns = {-1, 0, 0},
					       .gc_keeping_ns = {-1, 0, 0},
					       .gc_self_ns = gc_ns,
					       .survived.value = -1};
	}
}

static int by_rank(const void *a, const void *b)
{
	const struct model_function *x = a, *y = b;

	if (x->rank != y->rank)
		return x->rank < y->rank ? 1 : -1;
	if (x->cpu_total_ns != y->cpu_total_ns)
		return x->cpu_total_ns < y->cpu_total_ns ? 1 : -1;
	return strcmp(x->name, y->name);
}

/*
 * The rank is mainly a function's self time: on the CPU, and in the collections that it causes.
 * Small terms raise rows without such time: functions that allocate, functions that wait in
 * system calls, and managed functions in an interpreter, which has their self time (compiled ones
 * have their own). Waits side by side, such as those of a thread pool, weigh no more than one.
 */
static void rank_rows(struct model *model)
{
	double cpu = 0, bytes = 0, gc = 0, managed = 0, calls, waits, wall;

	for (size_t i = 0; i < model->n_functions; i++) {
		cpu += model->functions[i].cpu_self_ns;
		bytes += model->functions[i].alloc_self_bytes;
		gc += model->functions[i].gc_self_ns;
		managed += model->functions[i].runtime == RUNTIME_MANAGED
				   ? model->functions[i].cpu_self_ns
				   : 0;
	}
	calls = fmax((double)model->syscall_stack_ns, cpu + gc);
	waits = fmax((double)model->wait_stack_ns, cpu + gc);
	wall = fmax((double)model->run.wall, cpu + gc);
	calls *= fmax(calls / wall, 1);
	waits *= fmax(waits / wall, 1);
	for (size_t i = 0; i < model->n_functions; i++) {
		struct model_function *row = &model->functions[i];

		row->rank = cpu + gc > 0 ? (row->cpu_self_ns + row->gc_self_ns) / (cpu + gc) : 0;
		row->rank += bytes > 0 ? row->alloc_self_bytes / bytes / 4 : 0;
		row->rank += calls > 0 ? row->syscall_self_ns / calls / 8 : 0;
		row->rank += calls > 0 ? row->syscall_ns / calls / 64 : 0;
		row->rank += waits > 0 ? row->off_cpu_self_ns / waits / 8 : 0;
		if (row->runtime == RUNTIME_MANAGED && cpu > 0 && managed <= 0)
			row->rank += row->cpu_total_ns / cpu / 4;
	}
	qsort(model->functions, model->n_functions, sizeof(*model->functions), by_rank);
}

static int add_all(struct builder *builder)
{
	struct tree *tree = &builder->world->tree;
	struct frame *frame;

	for (uint64_t id = 1; id < tree->frames.limit; id++) {
		frame = tree_frame(tree, id);
		if (frame && resolve_frame(builder, frame) < 0)
			return -ENOMEM;
	}
	if (allocating_prepare(tree) < 0)
		return -ENOMEM;
	return function_sums_make(builder->world);
}

static bool is_empty(const struct model_function *row)
{
	return !row->cpu_samples && row->alloc_total_bytes <= 0 && row->gc_ns.value <= 0 &&
	       row->syscall_ns <= 0 && row->off_cpu_ns <= 0 && !row->faults;
}

/* Stores rows that have a cost, sorted by rank. */
static int show_rows(struct world *world)
{
	const struct functions *functions = &world->functions;
	struct model *model = world->model;

	model->functions = calloc(functions->n_rows + 2, sizeof(*model->functions));
	if (!model->functions)
		return -ENOMEM;
	for (size_t i = 0; i < functions->n_rows; i++) {
		fill_row(&functions->rows[i], &functions->sums[i], &model->gc);
		if (!is_empty(&functions->rows[i]))
			model->functions[model->n_functions++] = functions->rows[i];
	}
	add_rest(world);
	rank_rows(model);
	return 0;
}

int functions_finish(struct world *world)
{
	struct builder builder = {
		.world = world,
		.functions = &world->functions,
		.index = map_create(MAP_STRING_KEYS),
	};
	int error = builder.index ? add_all(&builder) : -ENOMEM;

	if (!error)
		error = show_rows(world);
	map_free(builder.index);
	return error;
}
