/* SPDX-License-Identifier: BSD-2-Clause */
/* source.c: prints source lines with their costs. */
#include "source.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "../util/escape.h"
#include "../util/source_text.h"
#include "sections.h"

enum {
	LINES_MAX = 5000, /* of one function: what has more is no source of it */
	BEHIND = 2,       /* lines that are shown below the last with a cost */
	TEXT_MAX = 400,   /* bytes of a line */
	TAB = 4,
};

/* The text of a file, line by line. */
struct reader {
	const char *at;
	uint64_t line; /* the number of the one at `at` */
};

/* Moves to a line; false: there is none. */
static bool seek_line(struct reader *reader, uint64_t line)
{
	while (reader->at && reader->line < line) {
		const char *end = strchr(reader->at, '\n');

		reader->at = end && end[1] ? end + 1 : NULL;
		reader->line++;
	}
	return reader->at && reader->line == line;
}

/* A line in printable form. */
static void copy_line(const char *from, char *out, size_t size)
{
	size_t length = strcspn(from, "\n"), used = 0;

	for (size_t at = 0; at < length && used + ESCAPE_MAX < size;) {
		char text[ESCAPE_MAX];

		if (from[at] == '\t') {
			snprintf(text, sizeof(text), "%*s", TAB, "");
			at++;
		} else {
			at += escape_character(from + at, length - at, text);
		}
		used += (size_t)snprintf(out + used, size - used, "%s", text);
	}
	out[used] = '\0';
}

static void put_row(struct table *table, uint64_t line, const struct line_sum *sum,
		    struct reader *reader)
{
	static const struct line_sum none = {.line = 0};
	char number[24] = "?", text[TEXT_MAX] = "";

	sum = sum ? sum : &none;
	if (line)
		snprintf(number, sizeof(number), "%" PRIu64, line);
	if (line && seek_line(reader, line))
		copy_line(reader->at, text, sizeof(text));
	cell_time(table, sum->self_ns);
	cell_time(table, sum->total_ns);
	cell_bytes(table, sum->alloc_bytes);
	table_cell(table, number);
	table_cell(table, text);
}

/* Rows of `count` lines of a function, and of those between if there is a text. */
static void put_rows(struct table *table, const struct line_sum *sums, size_t count,
		     const char *text)
{
	struct reader reader = {text, 1};
	uint64_t first, last = sums[count - 1].line;
	size_t at = sums[0].line ? 0 : 1; /* costs without a line come first */

	if (at)
		put_row(table, 0, &sums[0], &reader);
	if (at == count)
		return;
	first = sums->begin && sums->begin < sums[at].line ? sums->begin : sums[at].line;
	if (!text || last - first > LINES_MAX) {
		for (; at < count; at++)
			put_row(table, sums[at].line, &sums[at], &reader);
		return;
	}
	for (uint64_t line = first; line <= last + BEHIND; line++) {
		bool has = at < count && sums[at].line == line;

		if (line > last && !seek_line(&reader, line))
			break;
		put_row(table, line, has ? &sums[at] : NULL, &reader);
		at += has;
	}
}

static const char *why_no_text(const char *file)
{
	if (!file)
		return "The profile does not say where its source is.";
	if (*file != '/')
		return "Only lines with a cost are shown, without their text: the profile does not "
		       "say in which folder this file is.";
	return "Only lines with a cost are shown, without their text: the source is not on this "
	       "machine, was changed since, or is not the program's.";
}

static int print_function(const struct section *section, const struct line_sum *sums, size_t count)
{
	static const struct column columns[] = {
		{"CPU", "self", false, 0, 0},     {"CPU", "total", false, 2, 0},
		{NULL, "allocated", false, 3, 0}, {NULL, "line", false, 0, 0},
		{NULL, "source", true, 0, 16},
	};
	const struct model *model = section->model;
	struct table *table = table_create(columns, sizeof(columns) / sizeof(*columns));
	const char *file = sums->file ? sums->file : "unknown file";
	char *text = NULL, title[700];

	if (!table)
		return -ENOMEM;
	if (sums->file && model->run.realtime && model_is_of_this_host(&model->run))
		text = source_text_read(sums->file, model->run.realtime, model_user(model));
	snprintf(title, sizeof(title), "%.300s: %.300s", sums->name, file);
	page_heading(section->page, title);
	if (!text)
		page_paragraph(section->page, STYLE_DIM, 2, "%s", why_no_text(sums->file));
	put_rows(table, sums, count, text);
	free(text);
	return section_table(section, table);
}

int source_text(const struct model *model, const struct line_sums *sums,
		const struct report_options *options, FILE *out)
{
	struct page page = {out, options->width, options->colour, options->rows};
	const struct section section = {.model = model, .page = &page, .top = 1, .parts = 1};
	int err = 0;

	if (!sums->count)
		page_paragraph(&page, STYLE_PLAIN, 2,
			       "No timer or allocation sample has such a function on its stack.");
	for (size_t i = 0, end; i < sums->count && !err; i = end) {
		end = i + 1;
		while (end < sums->count && sums->rows[end].function == sums->rows[i].function)
			end++;
		err = print_function(&section, &sums->rows[i], end - i);
	}
	return err;
}
