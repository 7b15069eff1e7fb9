/* SPDX-License-Identifier: BSD-2-Clause */
/* programs.c: the table of programs, if several were recorded. */
#include <errno.h>
#include <math.h>
#include <stdio.h>

#include "json_parts.h"
#include "json_values.h"
#include "sections.h"
#include "units.h"

/* If calls were not always traced, the figures of programs are estimates, too. */
static void calls_cell(const struct section *section, struct table *table, double calls)
{
	bool estimated = section->model->tracing.estimated;
	char text[40];

	snprintf(text, sizeof(text), "~%s", unit_rough(calls).text);
	if (estimated && calls > 0)
		table_cell(table, text);
	else
		cell_count(table, (uint64_t)fmin(calls + 0.5, 9e18));
}

static void program_row(const struct section *section, struct table *table,
			const struct model_program *row)
{
	cell_count(table, row->processes);
	cell_count(table, row->threads);
	cell_time(table, row->cpu_ns);
	cell_share(table, row->cpu_ns, (double)section->model->cpu.on_cpu_ns);
	cell_time(table, row->gc_cpu_ns);
	cell_bytes(table, row->alloc.value);
	cell_count(table, row->pauses);
	cell_time(table, (double)row->pause_ns);
	calls_cell(section, table, row->calls);
	cell_count(table, row->minor_faults + row->major_faults);
	table_cell(table, row->name ? row->name : "?");
}

int section_programs(const struct section *section)
{
	static const struct column columns[] = {
		{NULL, "processes", false, 0, 0}, {NULL, "threads", false, 3, 0},
		{NULL, "CPU", false, 0, 0},       {NULL, "%", false, 0, 0},
		{NULL, "in GC", false, 0, 0},     {NULL, "allocated", false, 0, 0},
		{NULL, "pauses", false, 4, 0},    {NULL, "for", false, 0, 0},
		{"system", "calls", false, 1, 0}, {"page", "faults", false, 2, 0},
		{NULL, "program", true, 0, 12},
	};
	const struct model *model = section->model;
	struct table *table;

	/* With a single program, the report already shows its figures. */
	if (model->n_programs < 2 && !section->parts)
		return 0;
	section_title(section, TABLE_PROGRAMS, "Programs", model->n_programs,
		      "most CPU time first");
	table = table_create(columns, sizeof(columns) / sizeof(*columns));
	if (!table)
		return -ENOMEM;
	for (size_t i = 0; i < section_rows(section, model->n_programs); i++)
		program_row(section, table, &model->programs[i]);
	return section_table(section, table);
}

json_t *json_programs(const struct model *model, size_t top)
{
	json_t *array = json_array();

	for (size_t i = 0; i < model->n_programs && i < top; i++) {
		const struct model_program *program = &model->programs[i];
		json_t *row = json_object();

		json_put(row, "name", json_name(program->name));
		json_put(row, "processes", json_count(program->processes));
		json_put(row, "threads", json_count(program->threads));
		json_put(row, "cpu_samples", json_count(program->cpu_samples));
		json_put(row, "cpu_ns", json_whole(program->cpu_ns));
		json_put(row, "gc_cpu_ns", json_whole(program->gc_cpu_ns));
		json_put(row, "alloc_samples", json_count(program->alloc_samples));
		json_put(row, "alloc", json_estimate(&program->alloc, true));
		json_put(row, "pauses", json_count(program->pauses));
		json_put(row, "pause_ns", json_count(program->pause_ns));
		json_put(row, "syscalls", json_whole(program->calls));
		json_put(row, "syscall_ns", json_whole(program->call_ns));
		json_put(row, "minor_faults", json_count(program->minor_faults));
		json_put(row, "major_faults", json_count(program->major_faults));
		json_array_append_new(array, row);
	}
	return array;
}
