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
		group.peak += model->heap_areas[i].beside ? 0 : model->heap_areas[i].peak;
	return group;
}

/* 0 is a value here. */
static void cell_known(struct table *table, uint64_t bytes, bool known)
{
	table_cell(table, known ? unit_bytes((double)bytes).text : NULL);
}

static void area_row(struct table *table, const struct model_heap_area *area)
{
	char name[NAME_SIZE_MAX + 16];

	snprintf(name, sizeof(name), "%s%s", area->name ? area->name : "(unnamed)",
		 area->beside ? " (not heap)" : "");
	table_cell(table, name);
	cell_known(table, area->peak, true);
	cell_known(table, area->used, true);
	cell_known(table, area->size, true);
	cell_known(table, area->left, area->pauses);
	cell_known(table, area->came, area->pauses);
}

int section_areas(const struct section *section)
{
	static const struct column columns[] = {
		{NULL, "area", true, 0, 12},
		{"peak", "used", false, 0, 0},
		{"used after", "the last", false, 0, 0},
		{NULL, "committed", false, 0, 0},
		{"freed or", "moved out", false, 1, 0},
		{NULL, "moved in", false, 2, 0},
	};
	const struct model *model = section->model;
	struct group shown = {0}, group;
	size_t processes = 0;
	struct table *table;

	for (size_t i = 0; i < model->n_heap_areas; i += group.count, processes++) {
		group = group_at(model, i);
		if (!shown.count || group.peak > shown.peak)
			shown = group;
	}
	if (!shown.count)
		return 0;
	table = table_create(columns, sizeof(columns) / sizeof(*columns));
	if (!table)
		return -ENOMEM;
	for (size_t i = 0; i < shown.count; i++)
		area_row(table, &model->heap_areas[shown.first + i]);
	if (processes > 1)
		page_paragraph(section->page, STYLE_PLAIN, 2,
			       "areas of the heap of process %" PRIu64
			       ", the largest of %s; --filter process=PID shows another's",
			       model->heap_areas[shown.first].pid, unit_count(processes).text);
	return section_table(section, table);
}
