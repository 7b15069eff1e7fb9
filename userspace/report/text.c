/* SPDX-License-Identifier: BSD-2-Clause */
/* text.c: assembles the text report. */
#include <inttypes.h>
#include <string.h>

#include "sections.h"

enum { TOP_DEFAULT = 20 };

const struct model_stream *section_stream(const struct section *section, const char *name)
{
	for (size_t i = 0; i < section->model->n_streams; i++)
		if (strcmp(section->model->streams[i].name, name) == 0)
			return &section->model->streams[i];
	return NULL;
}

bool section_recorded(const struct section *section, const char *name, const char *title)
{
	const struct model_stream *stream = section_stream(section, name);

	if (!stream || stream->attached)
		return true;
	if (!section->parts)
		return false;
	page_heading(section->page, title);
	page_paragraph(section->page, STYLE_WARNING, 2, "not recorded: %s",
		       stream->why_not ? stream->why_not : "the profile does not say why");
	return false;
}

void section_title(const struct section *section, enum row_kind table, const char *what,
		   size_t rows, const char *order)
{
	char title[160];

	order = report_order_title(section->sort, table, order);
	if (rows > section->top)
		snprintf(title, sizeof(title), "%s (%" PRIu64 " of %zu, %s)", what, section->top,
			 rows, order);
	else if (section->sort)
		snprintf(title, sizeof(title), "%s (%s)", what, order);
	else
		snprintf(title, sizeof(title), "%s", what);
	page_heading(section->page, title);
}

size_t section_rows(const struct section *section, size_t rows)
{
	return rows < section->top ? rows : (size_t)section->top;
}

int section_table(const struct section *section, struct table *table)
{
	int error = table_print(table, section->page);

	table_free(table);
	return error;
}

/*
 * The order of the report. `part` 0: always printed; otherwise in the default report or on
 * request.
 */
static const struct {
	unsigned part;
	bool usual;
	int (*print)(const struct section *section);
} parts[] = {
	{0, true, section_head},
	{0, true, section_summary},
	{PART_TIMELINE, true, section_timeline},
	{0, true, section_advice},
	{PART_PROGRAMS, true, section_programs},
	{PART_ENTRIES, true, section_entries},
	{PART_FUNCTIONS, true, section_functions},
	{PART_GC, true, section_collections},
	{PART_GC, true, section_cycles},
	{PART_GC, false, section_pauses},
	{PART_SITES, true, section_sites},
	{PART_TYPES, true, section_types},
	{PART_LIVE, false, section_live},
	{PART_LIVE, false, section_live_heap},
	{PART_SYSCALLS, true, section_syscalls},
	{PART_SYSCALLS, false, section_slow_calls},
	{PART_HISTOGRAM, false, section_histogram},
	{PART_TIME, false, section_time},
	{PART_OFF_CPU, true, section_off_cpu},
	{PART_FAULTS, true, section_faults},
	{PART_THREADS, true, section_threads},
	{0, true, section_losses},
};

const struct report_page report_pages[] = {
	{PART_FUNCTIONS, "functions", 'f', "function="},
	{PART_SITES, "sites", 's', "function="},
	{PART_TYPES, "types", 'y', "type="},
	{PART_GC, "pauses", 'g', "function="},
	{PART_SYSCALLS, "calls", 'c', "during=syscall:"},
	{PART_OFF_CPU, "waits", 'w', "function="},
	{PART_THREADS, "threads", 'h', "thread="},
	{PART_PROGRAMS, "programs", 'p', "process="},
	{PART_TIME, "time", 'm', "thread="},
	{PART_TIMELINE, "timeline", 'l', "function="},
	{PART_LIVE, "live", 'v', "function="},
	{PART_ENTRIES, "entries", 'e', "function="},
	{PART_FAULTS, "faults", 'u', "function="},
	{0, NULL, '\0', NULL},
};

/* Where nothing is selected, tables would be zeros. */
static bool is_wanted(size_t i, const struct report_options *options, const struct model *model)
{
	/* A requested part is still preceded by the head. */
	bool head = parts[i].print == section_head, nothing = model_selects_nothing(model);

	/* How many calls are selected may be unknown, which that section says. */
	if (nothing)
		return (head && !options->bare) ||
		       (parts[i].print == section_syscalls && model->calls_left_out > 0);
	if (options->parts)
		return parts[i].part & options->parts || (head && !options->bare);
	return parts[i].usual;
}

int report_text(const struct model *model, const struct report_options *options, FILE *out)
{
	struct page page = {out, options->width, options->colour, options->rows};
	struct section section = {
		.model = model,
		.page = &page,
		.top = options->top ? options->top : TOP_DEFAULT,
		.verbose = options->verbose,
		.parts = options->parts,
		.sort = options->sort,
		.histogram = options->histogram,
	};
	int error = 0;

	if (page.width < REPORT_WIDTH_MIN)
		page.width = REPORT_WIDTH_MIN;
	if (page.width > REPORT_WIDTH_MAX)
		page.width = REPORT_WIDTH_MAX;
	if (options->brief && !options->parts && !model->filter)
		return section_screen(&section);
	for (size_t i = 0; i < sizeof(parts) / sizeof(*parts) && !error; i++)
		if (is_wanted(i, options, model))
			error = parts[i].print(&section);
	return error;
}
