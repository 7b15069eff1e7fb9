/* SPDX-License-Identifier: BSD-2-Clause */
/* entries.c: the table of the entry functions of threads. */
#include <errno.h>
#include <stdio.h>

#include "../util/path_base.h"
#include "sections.h"

static bool entry_cell(const struct row_table *rows, struct table *table, unsigned figure,
		       const void *row)
{
	const struct model_entry *entry = row;

	switch (figure) {
	case FIGURE_entry_cpu_share:
		cell_share(table, entry->cpu_ns, (double)rows->section->model->cpu.on_cpu_ns);
		return true;
	case FIGURE_entry_module:
		table_cell(table, entry->module ? path_base(entry->module) : "");
		return true;
	default:
		return false;
	}
}

/* By default, printed only if a runtime runs its threads on any system thread. */
int section_entries(const struct section *section)
{
	const struct row_table rows = {section, ROWS_entry, entry_cell, NULL};
	const struct model *model = section->model;
	size_t shown = section_rows(section, model->n_entries);
	char title[96] = "Entry functions";

	if (!shown || (!section->parts && !model->threads_move))
		return 0;
	if (shown < model->n_entries)
		snprintf(title, sizeof(title), "Entry functions (%zu of %zu, most CPU time first)",
			 shown, model->n_entries);
	page_heading(section->page, title);
	return section_print_rows(&rows, model->entries, model->n_entries);
}
