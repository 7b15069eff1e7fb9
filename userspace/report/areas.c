/* SPDX-License-Identifier: BSD-2-Clause */
/* areas.c: the named areas of a heap, such as generations, and what collections did to each. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "../model/world/text.h"
#include "sections.h"
#include "units.h"

/* The rows of one process, which are adjacent, and its heap's share of memory. */
struct group {
	size_t first, count;
	uint64_t peak;
};

static struct group group_at(const struct model *model, size_t first)
{
	struct group group = {.first = first};

	for (size_t i = first; i < model->n_heap_areas &&
			       model->heap_areas[i].process == model->heap_areas[first].process;
	     i++, group.count++)
		group.peak += model->heap_areas[i].in_heap ? model->heap_areas[i].peak_bytes : 0;
	return group;
}

/* 0 is a value here. */
static bool area_cell(const struct row_table *rows, struct table *table, unsigned figure,
		      const void *row)
{
	const struct figure_value value = figure_read(rows->section->model, figure, row);
	const struct model_heap_area *area = row;
	char name[NAME_SIZE_MAX + 16];

	if (figure == FIGURE_heap_area_name) {
		snprintf(name, sizeof(name), "%s%s", area->name ? area->name : "(unnamed)",
			 area->in_heap ? "" : " (not heap)");
		table_cell(table, name);
		return true;
	}
	table_cell(table, value.known ? unit_bytes(value.real).text : NULL);
	return true;
}

int section_areas(const struct section *section)
{
	const struct row_table rows = {section, ROWS_heap_area, area_cell, NULL};
	const struct model *model = section->model;
	struct group shown = {0}, group;
	size_t processes = 0;

	for (size_t i = 0; i < model->n_heap_areas; i += group.count, processes++) {
		group = group_at(model, i);
		if (!shown.count || group.peak > shown.peak)
			shown = group;
	}
	if (!shown.count)
		return 0;
	if (processes > 1)
		page_paragraph(section->page, STYLE_PLAIN, 2,
			       "areas of the heap of process %" PRIu64
			       ", the largest of %s; --filter process=PID shows another's",
			       model->heap_areas[shown.first].pid, unit_count(processes).text);
	return section_print_rows(&rows, &model->heap_areas[shown.first], shown.count);
}
