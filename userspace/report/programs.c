/* SPDX-License-Identifier: BSD-2-Clause */
/* programs.c: the table of programs, if several were recorded. */
#include <errno.h>
#include <math.h>
#include <stdio.h>

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

static bool program_cell(const struct row_table *rows, struct table *table, unsigned figure,
			 const void *row)
{
	const struct model_program *program = row;

	switch (figure) {
	case FIGURE_program_cpu_share:
		cell_share(table, program->cpu_ns, (double)rows->section->model->cpu.on_cpu_ns);
		return true;
	case FIGURE_program_syscalls:
		calls_cell(rows->section, table, program->syscalls);
		return true;
	case FIGURE_program_name:
		table_cell(table, program->name ? program->name : "?");
		return true;
	default:
		return false;
	}
}

int section_programs(const struct section *section)
{
	const struct row_table rows = {section, ROWS_program, program_cell, NULL};
	const struct model *model = section->model;

	/* With a single program, the report already shows its figures. */
	if (model->n_programs < 2 && !section->parts)
		return 0;
	section_title(section, ROWS_program, "Programs", model->n_programs, "most CPU time first");
	return section_print_rows(&rows, model->programs, model->n_programs);
}
