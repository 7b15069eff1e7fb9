/* SPDX-License-Identifier: BSD-2-Clause */
/* histogram.c: the distribution of a system call's duration. */
#include <errno.h>
#include <string.h>

#include "../../bpf/events.h"
#include "../util/plural.h"
#include "bars.h"
#include "sections.h"
#include "../util/units.h"

enum {
	PARTS = 4, /* buckets per row: a power of two of ns, or all below 4 ns */
	ROWS = SYSCALL_BUCKETS / PARTS,
	FIGURES = 50, /* columns beside the bars */
	BAR_MAX = 60,
};

/* The rows from the first to the last that are not empty. */
struct rows {
	uint64_t counts[ROWS];
	uint64_t sum, most;
	uint32_t first, end;
};

static struct rows rows_of(const uint64_t *histogram)
{
	struct rows rows = {.first = ROWS};

	for (uint32_t i = 0; i < SYSCALL_BUCKETS; i++) {
		uint64_t *count = &rows.counts[i / PARTS];

		*count += histogram[i];
		rows.sum += histogram[i];
		rows.most = *count > rows.most ? *count : rows.most;
		if (!histogram[i])
			continue;
		rows.first = i / PARTS < rows.first ? i / PARTS : rows.first;
		rows.end = i / PARTS + 1;
	}
	return rows;
}

static int print_rows(const struct section *section, const struct rows *rows)
{
	static const struct column columns[] = {
		{NULL, "from", false, 0, 0},       {NULL, "to", false, 0, 0},
		{NULL, "calls", false, 0, 0},      {NULL, "%", false, 0, 0},
		{NULL, "up to here", false, 1, 0}, {NULL, "", true, 0, 0},
	};
	struct table *table = table_create(columns, sizeof(columns) / sizeof(columns[0]));
	int room = section->page->width - FIGURES;
	char bar[BAR_SIZE(BAR_MAX)];
	uint64_t seen = 0;

	if (!table)
		return -ENOMEM;
	room = room < BAR_MAX ? room : BAR_MAX;
	for (uint32_t i = rows->first; i < rows->end; i++) {
		double share = (double)rows->counts[i] / (double)rows->sum;

		seen += rows->counts[i];
		cell_time(table, (double)syscall_bucket_floor(i * PARTS));
		table_cell(table,
			   i + 1 < ROWS
				   ? unit_time((double)syscall_bucket_floor((i + 1) * PARTS)).text
				   : NULL);
		cell_count(table, rows->counts[i]);
		table_cell(table, unit_percent(share).text);
		table_cell(table, unit_percent((double)seen / (double)rows->sum).text);
		bar_draw((double)rows->counts[i] / (double)rows->most, room, bar);
		table_cell(table, bar);
	}
	return section_table(section, table);
}

/* NULL: there is no such call, or none was requested. */
static const struct model_syscall *find(const struct section *section)
{
	for (size_t i = 0; section->histogram && i < section->model->n_syscalls; i++)
		if (!strcmp(section->model->syscalls[i].name, section->histogram))
			return &section->model->syscalls[i];
	return NULL;
}

int section_histogram(const struct section *section)
{
	const struct model_syscall *call = find(section);
	struct rows rows;
	char title[160];

	if (!call || !call->histogram)
		return 0;
	rows = rows_of(call->histogram);
	snprintf(title, sizeof(title), "How long %s took", call->name);
	page_heading(section->page, title);
	if (call->estimated)
		page_paragraph(section->page, STYLE_PLAIN, 2,
			       "%s call%s that %s traced; there were about %s (%s to %s with 95 %% "
			       "confidence).",
			       unit_count(call->traced_count).text,
			       plural(call->traced_count, "[|s]").text,
			       plural(call->traced_count, "[was|were]").text,
			       unit_rough(call->calls.value).text, unit_rough(call->calls.low).text,
			       unit_rough(call->calls.high).text);
	return rows.sum ? print_rows(section, &rows) : 0;
}
