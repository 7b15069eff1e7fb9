/* SPDX-License-Identifier: BSD-2-Clause */
/* entries.c: the table of the entry functions of threads. */
#include <errno.h>
#include <stdio.h>

#include "../util/path_base.h"
#include "sections.h"

static void entry_row(const struct section *section, struct table *table,
		      const struct model_entry *row)
{
	cell_count(table, row->fibers);
	cell_time(table, row->cpu_ns);
	cell_share(table, row->cpu_ns, (double)section->model->cpu.on_cpu_ns);
	cell_bytes(table, row->alloc_bytes);
	cell_time(table, row->gc_ns);
	cell_time(table, row->syscall_ns);
	cell_time(table, row->off_cpu_ns);
	table_cell(table, row->name);
	table_cell(table, row->module ? path_base(row->module) : "");
}

/* By default, printed only if a runtime runs its threads on any system thread. */
int section_entries(const struct section *section)
{
	static const struct column columns[] = {
		{NULL, "fibers", false, 1, 0},
		{NULL, "CPU", false, 0, 0},
		{"", "%", false, 5, 0},
		{NULL, "allocated", false, 0, 0},
		{"GC", "caused", false, 3, 0},
		{"system", "calls", false, 2, 0},
		{"off", "CPU", false, 0, 0},
		{NULL, "begins with", true, 0, 22},
		{NULL, "module or source", true, 4, 16},
	};
	const struct model *model = section->model;
	size_t rows = section_rows(section, model->n_entries);
	char title[96] = "Entry functions";
	struct table *table;

	if (!rows || (!section->parts && !model->threads_move))
		return 0;
	if (rows < model->n_entries)
		snprintf(title, sizeof(title), "Entry functions (%zu of %zu, most CPU time first)",
			 rows, model->n_entries);
	page_heading(section->page, title);
	table = table_create(columns, sizeof(columns) / sizeof(*columns));
	if (!table)
		return -ENOMEM;
	for (size_t i = 0; i < rows; i++)
		entry_row(section, table, &model->entries[i]);
	return section_table(section, table);
}
