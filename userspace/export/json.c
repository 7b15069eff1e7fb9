/* SPDX-License-Identifier: BSD-2-Clause */
/* json.c: exports stacks and their costs as one JSON object. */
/*
 * "functions" are referenced by their index. The "path" of a stack lists them from the
 * outermost to the innermost. Paths in "allocations" end at the function that allocates, so
 * they differ from the paths of the same stacks in "time".
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "../model/event.h"
#include "../model/world/allocating.h"
#include "../model/world/world.h"
#include "export.h"
#include "output.h"
#include "path.h"

static void put_functions(struct output *output, const struct functions *functions)
{
	output_text(output, "\"functions\":[");
	for (size_t i = 0; i < functions->n_rows; i++) {
		const struct model_function *row = &functions->rows[i];

		output_text(output, i ? ",\n{\"name\":" : "\n{\"name\":");
		output_string(output, row->name);
		output_format(output,
			      ",\"runtime\":\"%s\",\"module\":", runtime_name(row->runtime));
		output_string(output, row->module);
		output_text(output, ",\"file\":");
		output_string(output, row->file);
		output_text(output, ",\"line\":");
		output_number(output, row->line);
		output_text(output, "}");
	}
	output_text(output, "],\n");
}

static void put_path(struct output *output, const struct world *world, uint32_t stack)
{
	struct path_function path[PATH_FUNCTIONS_MAX];
	size_t count = path_functions(world, stack, path);

	output_text(output, "{\"path\":[");
	for (size_t i = count; i--;) {
		output_number(output, path[i].row);
		if (i)
			output_text(output, ",");
	}
	output_text(output, "]");
}

static void put_time(struct output *output, const struct world *world)
{
	bool begun = false;

	output_text(output, "\"time\":[");
	for (size_t i = 0; i < world->tree.n_costs; i++) {
		const struct cost *cost = &world->tree.costs[i];
		const struct cost_rest *rest = tree_rest_of(&world->tree, cost);

		if (!cost->cpu_samples && !rest->syscall_ns && !rest->off_cpu_ns && !rest->faults)
			continue;
		output_text(output, begun ? ",\n" : "\n");
		begun = true;
		put_path(output, world, cost->stack);
		output_text(output, ",\"cpu_samples\":");
		output_number(output, cost->cpu_samples);
		output_text(output, ",\"cpu_ns\":");
		output_number(output, cost->cpu_ns);
		output_text(output, ",\"syscall_ns\":");
		output_number(output, rest->syscall_ns);
		output_text(output, ",\"off_cpu_ns\":");
		output_number(output, rest->off_cpu_ns);
		output_text(output, ",\"faults\":");
		output_number(output, rest->faults);
		output_text(output, "}");
	}
	output_text(output, "],\n");
}

static void put_allocations(struct output *output, const struct world *world)
{
	bool begun = false;

	output_text(output, "\"allocations\":[");
	for (size_t i = 0; i < world->tree.n_costs; i++) {
		const struct cost *cost = &world->tree.costs[i];
		const struct stack_life *life = tree_life_of(&world->tree, cost);

		if (life->bytes.value <= 0 && life->gc_ns <= 0)
			continue;
		output_text(output, begun ? ",\n" : "\n");
		begun = true;
		put_path(output, world, allocating_stack(&world->tree, cost->stack));
		output_format(output,
			      ",\"bytes\":%.0f,\"known_bytes\":%.0f,\"survived_bytes\":%.0f,"
			      "\"gc_ns\":%.0f}",
			      life->bytes.value, life->survived.all, life->survived.some,
			      life->gc_ns);
	}
	output_format(output, "],\n\"gc_without_samples_ns\":%.0f", world->model->gc.no_samples_ns);
	output_text(output, ",\n\"cpu_without_samples_ns\":");
	output_number(output, world->model->cpu.no_samples_ns);
}

static int finish(struct model_observer *observer, const struct world *world)
{
	struct export_job *job = (struct export_job *)observer;

	output_text(job->output, "{\"file\":");
	output_string(job->output, world->model->file);
	output_text(job->output, ",\"duration_ns\":");
	output_number(job->output, world->model->run.duration);
	output_text(job->output, ",\n");
	put_functions(job->output, &world->functions);
	put_time(job->output, world);
	put_allocations(job->output, world);
	output_text(job->output, "}\n");
	return 0;
}

static int create(struct export_job **out)
{
	return export_job_create(finish, out);
}

const struct exporter exporter_json = {
	.name = "json",
	.suffix = ".json",
	.mark = {-1, ",\"duration_ns\":"},
	.summary = "stacks with their costs, for scripts; times in ns, sizes in bytes",
	.create = create,
};
