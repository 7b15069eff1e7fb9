/* SPDX-License-Identifier: BSD-2-Clause */
/* folded.c: one line a stack, "outermost;...;innermost value": what flame graphs are made of. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../model/pass.h"
#include "export.h"
#include "output.h"
#include "path.h"

static const char *const measures[] = {"cpu", "bytes", "gc", "syscall", "off-cpu", NULL};
enum measure { MEASURE_CPU, MEASURE_BYTES, MEASURE_GC, MEASURE_SYSCALL, MEASURE_OFF_CPU };

static int ignore_record(struct model_observer *observer, struct pass *pass,
			 const struct record *record)
{
	(void)observer;
	(void)pass;
	(void)record;
	return 0;
}

/* Times in ns, sizes in bytes. */
static double value_of(const struct cost *cost, enum measure measure, double tick)
{
	switch (measure) {
	case MEASURE_CPU:
		return (double)cost->cpu_samples * tick;
	case MEASURE_BYTES:
		return cost->alloc_bytes;
	case MEASURE_GC:
		return cost->gc_ns;
	case MEASURE_SYSCALL:
		return (double)cost->syscall_ns;
	case MEASURE_OFF_CPU:
		return (double)cost->off_cpu_ns;
	}
	return 0;
}

/* A semicolon in a name would look like the border between two. */
static void put_name(struct output *output, const struct model_function *function, bool inlined)
{
	const char *name = function->name;

	for (size_t part; *name; name += part) {
		part = strcspn(name, ";");
		output_bytes(output, name, part);
		if (name[part] != ';')
			continue;
		output_text(output, ":");
		part++;
	}
	/* Those who draw flame graphs choose colours by this. */
	if (function->runtime == RUNTIME_KERNEL)
		output_text(output, "_[k]");
	else if (inlined)
		output_text(output, "_[i]");
}

static void put_stack(struct output *output, const struct pass *pass, uint32_t stack)
{
	struct path_function path[PATH_FUNCTIONS_MAX];
	size_t count = path_functions(pass, stack, path);

	if (!count)
		output_text(output, functions_none(pass->model));
	for (size_t i = count; i--;) {
		put_name(output, &pass->functions.rows[path[i].row], path[i].inlined);
		if (i)
			output_text(output, ";");
	}
}

static enum measure find_measure(const char *name)
{
	int i = 0;

	for (; name && measures[i] && strcmp(name, measures[i]) != 0;)
		i++;
	return (enum measure)i;
}

static int finish(struct model_observer *observer, struct pass *pass)
{
	struct export_job *job = (struct export_job *)observer;
	enum measure measure = find_measure(job->options.measure);
	uint64_t frequency = pass->model->run.frequency;
	double tick = frequency ? 1e9 / (double)frequency : 0;
	double rest = measure == MEASURE_GC ? pass->model->gc.no_samples_ns : 0;

	for (size_t i = 0; i < pass->tree.n_costs; i++) {
		const struct cost *cost = &pass->tree.costs[i];
		double value = value_of(cost, measure, tick);
		uint32_t stack = cost->stack;

		if (value < 0.5)
			continue;
		if (measure == MEASURE_BYTES || measure == MEASURE_GC)
			stack = functions_allocating(pass, stack);
		put_stack(job->output, pass, stack);
		output_format(job->output, " %.0f\n", value);
	}
	if (rest >= 0.5)
		output_format(job->output, "(no samples) %.0f\n", rest);
	return 0;
}

static void free_job(struct export_job *job)
{
	free(job);
}

static int create(struct export_job **out)
{
	struct export_job *job = calloc(1, sizeof(*job));

	if (!job)
		return -ENOMEM;
	job->observer = (struct model_observer){ignore_record, finish};
	job->free = free_job;
	*out = job;
	return 0;
}

const struct exporter exporter_folded = {
	.name = "folded",
	.suffix = ".folded",
	.summary = "a line a stack, for flame graphs; --by cpu, bytes, gc, syscall or off-cpu",
	.measures = measures,
	.create = create,
};
