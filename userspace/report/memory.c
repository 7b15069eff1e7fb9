/* SPDX-License-Identifier: BSD-2-Clause */
/* memory.c: the tables on objects: sites, types, live objects, areas of heaps. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../util/path_base.h"
#include "advice.h"
#include "../model/figures.h"
#include "sections.h"
#include "../util/units.h"
#include "../model/world/text.h"

#define N_COLUMNS(columns) (sizeof(columns) / sizeof(*(columns)))

/* Where no sample has a type, the column of types is left out. */
static void type_cell(struct table *table, const struct model *model, const struct model_site *row)
{
	table_cell(table, !model->alloc.typed ? NULL : row->type ? row->type : "(several)");
}

static bool site_cell(const struct row_table *rows, struct table *table, unsigned figure,
		      const void *row)
{
	const struct model *model = rows->section->model;
	const struct model_site *site = row;

	switch (figure) {
	case FIGURE_site_gc_share:
		cell_share(table, site->gc_ns.value, model_gc_cost(&model->gc, &model->cpu));
		return true;
	case FIGURE_site_bytes_margin:
		cell_margin(table, &site->bytes);
		return true;
	case FIGURE_site_median_age_below_bytes:
		cell_age(table, site->median_age_below_bytes);
		return true;
	case FIGURE_site_type:
		type_cell(table, model, site);
		return true;
	default:
		return false;
	}
}

/* Two sites may save the same time, so these columns add up to anything. */
static void explain_saved(const struct section *section, bool shown)
{
	if (shown)
		page_paragraph(
			section->page, STYLE_DIM, 2,
			"GC caused: charged by its share of each part of the collectors' work. "
			"without: what they would take less if the row allocated nothing, or "
			"kept nothing of it; such savings overlap.");
}

static void explain_unknown_keeping(const struct section *section)
{
	const struct model *model = section->model;

	if (model_has(model, NEEDS_ALLOC_GC) && model_gc_count(&model->gc) &&
	    model->alloc.collected && !model->gc.paces.kept_known)
		page_paragraph(section->page, STYLE_DIM, 2,
			       "What keeping costs is not known, because nothing reports what "
			       "becomes of objects. Where a runtime has an agent, record with "
			       "--agent.");
}

/* Explains the visible columns. */
static int print_sites(const struct row_table *rows, struct table *table)
{
	const struct section *section = rows->section;
	bool survived = rows_show(rows, table, FIGURE_site_survived);
	bool saved = rows_show(rows, table, FIGURE_site_gc_allocating_ns) ||
		     rows_show(rows, table, FIGURE_site_gc_keeping_ns);
	bool premature = rows_show(rows, table, FIGURE_site_promoted_then_died_bytes);
	bool age = rows_show(rows, table, FIGURE_site_median_age_below_bytes);

	if (section_table(section, table) < 0)
		return -ENOMEM;
	explain_saved(section, saved);
	explain_unknown_keeping(section);
	if (!survived)
		return 0;
	page_paragraph(section->page, STYLE_DIM, 2,
		       "survived: share of the bytes that outlived their first collection.%s%s",
		       premature ? " promoted, then died: dead by the next major collection." : "",
		       age ? " Ages are counted in bytes allocated since." : "");
	return 0;
}

int section_sites(const struct section *section)
{
	const struct row_table rows = {section, ROWS_site, site_cell, NULL};
	const struct model *model = section->model;
	struct table *table;

	if (!section_recorded(section, "alloc", "Allocation sites") ||
	    (!model->n_sites && !section->parts))
		return 0;
	section_title(section, ROWS_site, "Allocation sites", model->n_sites_found,
		      model->n_sites && model->sites[0].gc_ns.value > 0
			      ? "most collection time caused first"
			      : "most bytes first");
	if (!model->n_sites) {
		page_paragraph(section->page, STYLE_PLAIN, 2, "No samples.");
		return 0;
	}
	table = rows_table(&rows, model->sites, model->n_sites);
	return table ? print_sites(&rows, table) : -ENOMEM;
}

static bool type_row_cell(const struct row_table *rows, struct table *table, unsigned figure,
			  const void *row)
{
	const struct model_type *type = row;
	const struct estimate *survived = &type->survived;

	(void)rows;
	switch (figure) {
	case FIGURE_type_bytes_margin:
		cell_margin(table, &type->bytes);
		return true;
	case FIGURE_type_objects_margin:
		cell_margin(table, &type->objects);
		return true;
	case FIGURE_type_survived_margin:
		table_cell(table, survived->value < 0
					  ? NULL
					  : unit_points(fmax(survived->high - survived->value,
							     survived->value - survived->low))
						    .text);
		return true;
	case FIGURE_type_median_age_below_bytes:
		cell_age(table, type->median_age_below_bytes);
		return true;
	default:
		return false;
	}
}

int section_types(const struct section *section)
{
	const struct row_table rows = {section, ROWS_type, type_row_cell, NULL};
	const struct model *model = section->model;
	bool survived, live, saved;
	struct table *table;

	if (!section_recorded(section, "alloc", "Types"))
		return 0;
	section_title(section, ROWS_type, "Types", model->n_types, "most bytes first");
	if (!model->n_types) {
		page_paragraph(section->page, STYLE_PLAIN, 2, "No samples.");
		return 0;
	}
	table = rows_table(&rows, model->types, model->n_types);
	if (!table)
		return -ENOMEM;
	survived = rows_show(&rows, table, FIGURE_type_survived);
	live = rows_show(&rows, table, FIGURE_type_live_bytes);
	saved = rows_show(&rows, table, FIGURE_type_gc_allocating_ns) ||
		rows_show(&rows, table, FIGURE_type_gc_keeping_ns);
	if (section_table(section, table) < 0)
		return -ENOMEM;
	explain_saved(section, saved);
	page_paragraph(
		section->page, STYLE_DIM, 2,
		"estimated from samples; \u00b1 with 95 %% confidence.%s%s",
		survived ? " survived: share of the objects, \u00b1 in percentage points." : "",
		!live                         ? ""
		: model->alloc.live_collected ? " live: old, and not known to be dead at the end."
					      : " live: not freed at the end.");
	return 0;
}

static int by_life(const void *a, const void *b)
{
	const struct model_site *const *x = a, *const *y = b;
	double left = (*x)->live_bytes, right = (*y)->live_bytes;

	return left < right ? 1 : -(left > right);
}

/* The sites ordered by live bytes, independently of the model's order; NULL: no memory. */
static const struct model_site **sites_by_life(const struct model *model)
{
	const struct model_site **rows =
		calloc(model->n_sites + 1, sizeof(const struct model_site *));

	for (size_t i = 0; rows && i < model->n_sites; i++)
		rows[i] = &model->sites[i];
	if (rows && model->n_sites)
		qsort(rows, model->n_sites, sizeof(*rows), by_life);
	return rows;
}

static int print_live(const struct section *section, const struct model_site **rows)
{
	static const struct column columns[] = {
		{NULL, "live", false, 0, 0},
		{NULL, "%", false, 2, 0},
		{NULL, "allocated", false, 1, 0},
		{NULL, "type", true, 0, 10},
		{NULL, "allocated in < called by", true, 0, 44},
	};
	const struct model *model = section->model;
	struct table *table = table_create(columns, N_COLUMNS(columns));

	if (!table)
		return -ENOMEM;
	for (size_t i = 0; i < section_rows(section, model->n_sites); i++) {
		double live = rows[i]->live_bytes;

		if (live <= 0)
			break;
		cell_bytes(table, live);
		cell_share(table, live, model->alloc.live_bytes);
		cell_bytes(table, rows[i]->bytes.value);
		type_cell(table, model, rows[i]);
		cell_figure(section, table, FIGURE_site_functions, rows[i]);
	}
	return section_table(section, table);
}

/* Objects of which nothing is known any more may be alive. */
static void print_lost(const struct section *section)
{
	const struct model_alloc *alloc = &section->model->alloc;

	if (alloc->lost_fates)
		page_paragraph(section->page, STYLE_DIM, 2,
			       "More may be alive: of %s of %s samples nothing is known after a "
			       "collection that gcprof cannot follow.",
			       unit_count(alloc->lost_fates).text, unit_count(alloc->samples).text);
}

int section_live(const struct section *section)
{
	const struct model *model = section->model;
	const struct model_site **rows;
	int error;

	if (!section_recorded(section, "alloc", "Alive at the end"))
		return 0;
	page_heading(section->page, "Alive at the end");
	if (model->alloc.live_bytes < 1) {
		page_paragraph(section->page, STYLE_PLAIN, 2,
			       "No sampled object is known to be alive.");
		print_lost(section);
		return 0;
	}
	rows = sites_by_life(model);
	error = rows ? print_live(section, rows) : -ENOMEM;
	free(rows);
	page_paragraph(
		section->page, STYLE_DIM, 2,
		"about %s in all, \u00b1%s: objects that became old, or that the program must "
		"free, and are not known to have died before the recording or their program "
		"ended.%s",
		unit_bytes(model->alloc.live_bytes).text,
		unit_bytes((model->alloc.live.high - model->alloc.live.low) / 2).text,
		model->alloc.live_collected
			? " Objects that the last collections did not examine may be dead; those "
			  "allocated since are not among them."
			: "");
	print_lost(section);
	return error;
}

static bool heap_cell(const struct row_table *rows, struct table *table, unsigned figure,
		      const void *row)
{
	const struct model_heap_row *heap = row;

	switch (figure) {
	case FIGURE_heap_row_margin:
		cell_margin(table, &heap->interval);
		return true;
	case FIGURE_heap_row_share:
		cell_share(table, heap->bytes, rows->section->model->heap.bytes);
		return true;
	case FIGURE_heap_row_module:
		table_cell(table, heap->module ? path_base(heap->module) : "");
		return true;
	default:
		return false;
	}
}

int section_live_heap(const struct section *section)
{
	const struct row_table rows = {section, ROWS_heap_row, heap_cell, NULL};
	const struct model_heap *heap = &section->model->heap;
	struct estimate live = tally_estimate(&heap->live);
	int error;

	if (!heap->n_rows)
		return 0;
	page_heading(section->page, "Alive according to the runtime's own heap profile");
	error = section_print_rows(&rows, heap->rows, heap->n_rows);
	page_paragraph(
		section->page, STYLE_DIM, 2,
		"about %s in all (95 %% confidence: %s to %s), whenever allocated, as of the last "
		"collection but one. at first: when the recorder attached to a running program.",
		unit_bytes(heap->bytes).text, unit_bytes(live.low).text,
		unit_bytes(live.high).text);
	return error;
}

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
