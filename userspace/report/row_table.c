/* SPDX-License-Identifier: BSD-2-Clause */
/* row_table.c: tables of rows, whose columns are those of ../model/rows.def, and their cells. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "../util/units.h"
#include "sections.h"

enum { COLUMNS_MAX = 24 };

/* The columns of a table: texts come last. */
struct columns {
	struct column list[COLUMNS_MAX];
	unsigned figures[COLUMNS_MAX];
	size_t count;
};

static void add_columns(struct columns *columns, enum row_kind rows, bool text)
{
	for (unsigned i = figure_tables[rows].first; i < figure_tables[rows].end; i++) {
		const struct figure_heading *heading = &figure_list[i].heading;

		if (!heading->title || heading->text != text || columns->count == COLUMNS_MAX)
			continue;
		columns->list[columns->count] = (struct column){heading->top, heading->title, text,
								heading->drop, heading->width};
		columns->figures[columns->count++] = i;
	}
}

/* Not thread-safe: made when first needed. */
static const struct columns *columns_of(enum row_kind rows)
{
	static struct columns tables[ROWS_END];
	struct columns *columns = &tables[rows];

	if (columns->count)
		return columns;
	add_columns(columns, rows, false);
	add_columns(columns, rows, true);
	return columns;
}

void cell_id(struct table *table, uint64_t id)
{
	char number[24];

	snprintf(number, sizeof(number), "%" PRIu64, id);
	table_cell(table, number);
}

/* A share for which 0 is a meaningful value. */
static void cell_survived(struct table *table, const struct estimate *share)
{
	table_cell(table, share->value >= 0 ? unit_percent(share->value).text : NULL);
}

void cell_figure(const struct section *section, struct table *table, unsigned figure,
		 const void *row)
{
	const struct figure_value value = figure_read(section->model, figure, row);
	char names[SITE_FUNCTIONS * 256];

	if (!value.known) {
		table_cell(table, value.unrecorded ? "?" : NULL);
		return;
	}
	switch (figure_list[figure].kind) {
	case FIGURE_NAME:
	case FIGURE_RUNTIME:
		table_cell(table, value.text);
		break;
	case FIGURE_NAMES:
		figure_join(value.names, names, sizeof(names));
		table_cell(table, names);
		break;
	case FIGURE_REF:
	case FIGURE_ID:
		cell_id(table, value.count);
		break;
	case FIGURE_COUNT:
		cell_count(table, value.count);
		break;
	case FIGURE_ROUGH:
		cell_count(table, (uint64_t)value.real);
		break;
	case FIGURE_NS:
	case FIGURE_TIME:
	case FIGURE_TIME_OF:
		cell_time(table, value.real);
		break;
	case FIGURE_SIZE:
	case FIGURE_BYTES:
	case FIGURE_BYTES_OF:
		cell_bytes(table, value.real);
		break;
	case FIGURE_COUNT_OF:
		table_cell(table, unit_rough(value.real).text);
		break;
	case FIGURE_SHARE:
		table_cell(table, unit_percent(value.real).text);
		break;
	case FIGURE_SHARE_OF:
		cell_survived(table, value.estimate);
		break;
	case FIGURE_FLAG:
	case FIGURE_SHOWN:
		table_cell(table, NULL);
		break;
	}
}

struct table *rows_table(const struct row_table *rows, const void *first, size_t count)
{
	const struct columns *columns = columns_of(rows->rows);
	struct table *table = table_create(columns->list, columns->count);
	const char *row = first;

	for (size_t i = 0; table && i < section_rows(rows->section, count); i++) {
		table_shows_row(table, (int)rows->rows, row);
		for (size_t j = 0; j < columns->count; j++)
			if (!rows->cell || !rows->cell(rows, table, columns->figures[j], row))
				cell_figure(rows->section, table, columns->figures[j], row);
		row += figure_tables[rows->rows].size;
	}
	return table;
}

bool rows_show(const struct row_table *rows, const struct table *table, unsigned figure)
{
	const struct columns *columns = columns_of(rows->rows);

	for (size_t i = 0; i < columns->count; i++)
		if (columns->figures[i] == figure)
			return table_shows(table, rows->section->page, i);
	return false;
}

int section_print_rows(const struct row_table *rows, const void *first, size_t count)
{
	struct table *table = rows_table(rows, first, count);

	return table ? section_table(rows->section, table) : -ENOMEM;
}

void cell_time(struct table *table, double ns)
{
	table_cell(table, ns >= 0.5 ? unit_time(ns).text : NULL);
}

void cell_bytes(struct table *table, double bytes)
{
	table_cell(table, bytes >= 0.5 ? unit_bytes(bytes).text : NULL);
}

void cell_count(struct table *table, uint64_t count)
{
	table_cell(table, count ? unit_count(count).text : NULL);
}

void cell_share(struct table *table, double part, double whole)
{
	table_cell(table, part > 0 && whole > 0 ? unit_percent(part / whole).text : NULL);
}

/* Shows the farther end of the interval, relative to the estimate. */
void cell_margin(struct table *table, const struct estimate *estimate)
{
	double reach = fmax(estimate->high - estimate->value, estimate->value - estimate->low);

	table_cell(table, estimate->value > 0 ? unit_margin(reach / estimate->value).text : NULL);
}

/* The median age at death is known only as a class: shows its upper bound. */
void cell_age(struct table *table, uint64_t age)
{
	char text[40];

	snprintf(text, sizeof(text), "<%s", unit_bytes((double)age).text);
	table_cell(table, age ? text : NULL);
}
