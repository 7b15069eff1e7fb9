/* SPDX-License-Identifier: BSD-2-Clause */
/* folded.c: exports one line per stack, "outermost;...;innermost value", as for flame graphs. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../model/event.h"
#include "../../model/rows/functions.h"
#include "../../model/world/allocating.h"
#include "../../model/world/world.h"
#include "../../util/buffer.h"
#include "../export.h"
#include "lines.h"
#include "../output.h"
#include "../path.h"

static const char *const measures[] = {"cpu", "bytes", "gc", "syscall", "off-cpu", "faults", NULL};
enum measure {
	MEASURE_CPU,
	MEASURE_BYTES,
	MEASURE_GC,
	MEASURE_SYSCALL,
	MEASURE_OFF_CPU,
	MEASURE_FAULTS
};

/* State while lines are made. */
struct folded {
	struct folded_lines *lines;
	uint32_t *names; /* by row of functions, for normal and inlined calls; 0: none yet */
	struct buffer text;
	bool filled; /* some stack has a value */
};

/* Times in ns, sizes in bytes, page faults as counts. */
static double value_of(const struct tree *tree, const struct cost *cost, enum measure measure)
{
	switch (measure) {
	case MEASURE_CPU:
		return (double)cost->cpu_ns;
	case MEASURE_BYTES:
		return tree_life_of(tree, cost)->bytes.value;
	case MEASURE_GC:
		return tree_life_of(tree, cost)->gc_ns;
	case MEASURE_SYSCALL:
		return (double)tree_rest_of(tree, cost)->syscall_ns;
	case MEASURE_OFF_CPU:
		return (double)tree_rest_of(tree, cost)->off_cpu_ns;
	case MEASURE_FAULTS:
		return (double)tree_rest_of(tree, cost)->faults;
	}
	return 0;
}

/* The name of a function in the output. A semicolon would look like a separator. */
static uint32_t name_new(struct folded *folded, const struct model_function *function, bool inlined)
{
	/* Flame graph tools choose colours by these suffixes. */
	const char *mark = function->runtime == RUNTIME_KERNEL ? "_[k]" : inlined ? "_[i]" : "";
	struct buffer *text = &folded->text;

	text->size = 0;
	if (buffer_append(text, function->name, strlen(function->name)) ||
	    buffer_append(text, mark, strlen(mark)))
		return 0;
	for (size_t i = 0; i < text->size; i++) {
		if (text->data[i] == ';')
			text->data[i] = ':';
	}
	return folded_lines_name(folded->lines, text->data, text->size);
}

static uint32_t name_of(struct folded *folded, const struct world *world,
			const struct path_function *function)
{
	uint32_t *name = &folded->names[2 * (size_t)function->row + function->inlined];

	if (!*name)
		*name = name_new(folded, &world->functions.rows[function->row], function->inlined);
	return *name;
}

static int add_stack(struct folded *folded, const struct world *world, uint32_t stack, double value)
{
	const char *none = functions_none(world->model);
	struct path_function path[PATH_FUNCTIONS_MAX];
	uint32_t names[PATH_FUNCTIONS_MAX];
	size_t count = path_functions(world, stack, path);

	for (size_t i = 0; i < count; i++)
		names[i] = name_of(folded, world, &path[i]);
	if (!count)
		names[count++] = folded_lines_name(folded->lines, none, strlen(none));
	for (size_t i = 0; i < count; i++) {
		if (!names[i])
			return -ENOMEM;
	}
	return folded_lines_add(folded->lines, names, count, value);
}

static enum measure find_measure(const char *name)
{
	int i = 0;

	for (; name && measures[i] && strcmp(name, measures[i]) != 0;)
		i++;
	return (enum measure)i;
}

static int add_all(struct folded *folded, const struct world *world, enum measure measure)
{
	int err = 0;

	for (size_t i = 0; !err && i < world->tree.n_costs; i++) {
		const struct cost *cost = &world->tree.costs[i];
		double value = value_of(&world->tree, cost, measure);
		uint32_t stack = cost->stack;

		if (value <= 0)
			continue;
		if (measure == MEASURE_BYTES || measure == MEASURE_GC)
			stack = allocating_stack(&world->tree, stack);
		err = add_stack(folded, world, stack, value);
		folded->filled = true;
	}
	return err;
}

/* Explains an empty flame graph, for example if the stream was not recorded. */
static void note_nothing(struct export_job *job, const struct model *model, enum measure measure)
{
	static const char *const streams[] = {
		[MEASURE_CPU] = "cpu",       [MEASURE_BYTES] = "alloc",
		[MEASURE_GC] = "gc",         [MEASURE_SYSCALL] = "syscall",
		[MEASURE_OFF_CPU] = "sched", [MEASURE_FAULTS] = "fault",
	};
	const char *why_not = NULL;

	for (size_t i = 0; i < model->n_streams; i++)
		if (strcmp(model->streams[i].name, streams[measure]) == 0 &&
		    !model->streams[i].attached)
			why_not = model->streams[i].why_not;
	snprintf(job->note, sizeof(job->note), "nothing to show by %s%s%.200s", measures[measure],
		 why_not ? ": not recorded, " : ": no stack has any cost of this kind",
		 why_not ? why_not : "");
}

static int finish(struct model_observer *observer, const struct world *world)
{
	struct export_job *job = (struct export_job *)observer;
	enum measure measure = find_measure(job->options.measure);
	double rest = measure == MEASURE_GC    ? world->model->gc.unattributed_ns
		      : measure == MEASURE_CPU ? (double)world->model->cpu.no_samples_ns
					       : 0;
	struct folded folded = {0};
	int err = folded_lines_create(&folded.lines);

	folded.names = calloc(2 * world->functions.n_rows + 1, sizeof(*folded.names));
	if (!err)
		err = folded.names ? add_all(&folded, world, measure) : -ENOMEM;
	if (!err)
		folded_lines_write(folded.lines, job->output);
	if (!err && rest < 0.5 && !folded.filled)
		note_nothing(job, world->model, measure);
	if (!err && rest >= 0.5)
		output_format(job->output, "(no samples) %.0f\n", rest);
	folded_lines_free(folded.lines);
	free(folded.names);
	buffer_free(&folded.text);
	return err;
}

static int create(struct export_job **out)
{
	return export_job_create(finish, out);
}

const struct exporter exporter_folded = {
	.name = "folded",
	.suffix = ".folded",
	.mark = {0, NULL},
	.summary = "one line per stack, for flame graphs; --by cpu, bytes, gc, syscall, off-cpu or "
		   "faults",
	.measures = measures,
	.create = create,
};
