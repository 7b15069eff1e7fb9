/* SPDX-License-Identifier: BSD-2-Clause */
/* report.c: the report for people: puts its parts together. */
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

bool section_recorded(const struct section *section, const char *name, const char *what)
{
	const struct model_stream *stream = section_stream(section, name);

	if (!stream || stream->attached)
		return true;
	page_paragraph(section->page, STYLE_WARNING, 2, "%s not recorded: %s.", what,
		       stream->why_not ? stream->why_not : "the profile does not say why");
	return false;
}

void section_title(const struct section *section, const char *what, size_t rows, const char *order)
{
	char title[160];

	if (rows > section->top)
		snprintf(title, sizeof(title), "%s (%" PRIu64 " of %zu, %s)", what, section->top,
			 rows, order);
	else
		snprintf(title, sizeof(title), "%s", what);
	page_heading(section->page, title);
}

int report_text(const struct model *model, const struct report_options *options, FILE *out)
{
	static int (*const parts[])(const struct section *) = {
		section_head,  section_summary,  section_functions, section_collections,
		section_types, section_syscalls, section_threads,   section_losses,
	};
	struct page page = {out, options->width, options->colour};
	struct section section = {model, &page, options->top, options->verbose};
	int error = 0;

	if (page.width < REPORT_WIDTH_MIN)
		page.width = REPORT_WIDTH_MIN;
	if (page.width > REPORT_WIDTH_MAX)
		page.width = REPORT_WIDTH_MAX;
	if (!section.top)
		section.top = TOP_DEFAULT;
	for (size_t i = 0; i < sizeof(parts) / sizeof(*parts) && !error; i++)
		error = parts[i](&section);
	return error;
}
