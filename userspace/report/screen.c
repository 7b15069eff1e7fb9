/* SPDX-License-Identifier: BSD-2-Clause */
/* screen.c: the answer on one screen: what ran, where the time went, why, and how to see more. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../util/units.h"
#include "advice.h"
#include "sections.h"

enum { SCREEN_LINES = 23 /* and the shell's prompt */, ENDING_LINES = 3 };

/* Lines that are not printed yet. */
struct piece {
	char *text;
	size_t size;
	struct page page;
	struct section section; /* which prints to it */
};

static int piece_begin(struct piece *piece, const struct section *section)
{
	*piece = (struct piece){.page = *section->page, .section = *section};
	piece->page.out = open_memstream(&piece->text, &piece->size);
	piece->section.page = &piece->page;
	return piece->page.out ? 0 : -ENOMEM;
}

static int lines_of(const char *text)
{
	int lines = 0;

	for (; *text; text++)
		lines += *text == '\n';
	return lines;
}

/* Prints it if it fits into the lines that are left. 0 or -ENOMEM. */
static int piece_end(struct piece *piece, const struct section *section, int *left)
{
	int err = fclose(piece->page.out) == 0 ? 0 : -ENOMEM;

	if (!err && lines_of(piece->text) <= *left) {
		*left -= lines_of(piece->text);
		fputs(piece->text, section->page->out);
	}
	free(piece->text);
	return err;
}

static void print_top(const struct section *section)
{
	const struct model_run *run = &section->model->run;
	char end[96];

	section_command(section->page, STYLE_HEADING, 0, run);
	section_end(section->model, end, sizeof(end));
	page_paragraph(section->page, STYLE_PLAIN, 2, "%s; %s",
		       unit_time((double)run->duration).text, end);
	section_state(section);
	section_bars(section);
}

static int print_findings(const struct section *section, int *left)
{
	const struct model *model = section->model;
	struct piece piece;
	int err = 0;

	for (size_t i = 0; i < model->n_findings && !err; i++) {
		const struct model_finding *finding = &model->findings[i];
		size_t begin = section->page->rows ? (size_t)ftell(section->page->out) : 0, at;
		int before = *left;

		err = piece_begin(&piece, section);
		if (err)
			return err;
		if (i == 0)
			page_heading(&piece.page, "What stands out");
		at = begin + (section->page->rows ? (size_t)ftell(piece.page.out) : 0);
		/* Of the first one also why it is believed. */
		page_paragraph(&piece.page, STYLE_WARNING, 2, "%s%s%s", finding->text,
			       i == 0 && *finding->evidence ? " " : "",
			       i == 0 ? finding->evidence : "");
		if (*finding->remedy)
			page_paragraph(&piece.page, STYLE_PLAIN, 4, "%s", finding->remedy);
		err = piece_end(&piece, section, left);
		if (!err && *left < before)
			err = page_note_row(section->page,
					    &(struct report_row){at, at, ROWS_finding, finding});
	}
	return err;
}

/* What is wrong with the recording, in a line or two each. */
static int print_advice(const struct section *section, int *left)
{
	struct advice_list list = {.count = 0};
	int err = advice_find(section->model, &list);
	struct piece piece;

	for (size_t i = 0; i < list.count && !err; i++) {
		err = piece_begin(&piece, section);
		if (err)
			break;
		page_paragraph(&piece.page, STYLE_DIM, 2, "%s", list.items[i].evidence);
		err = piece_end(&piece, section, left);
	}
	advice_free(&list);
	return err;
}

int section_screen(const struct section *section)
{
	int left = SCREEN_LINES - ENDING_LINES, err;
	struct piece piece;

	err = piece_begin(&piece, section);
	if (!err) {
		print_top(&piece.section);
		err = piece_end(&piece, section, &left);
	}
	if (!err && !section->model->n_findings)
		page_paragraph(section->page, STYLE_PLAIN, 2, "Nothing stands out.");
	left -= !section->model->n_findings;
	err = err ? err : print_findings(section, &left);
	err = err ? err : print_advice(section, &left);
	fputc('\n', section->page->out);
	page_line(section->page, STYLE_DIM, 2,
		  section->model->n_findings && *section->model->findings[0].command
			  ? section->model->findings[0].command
			  : "gcprof report --functions");
	page_line(section->page, STYLE_DIM, 2,
		  "gcprof report --all: all tables; gcprof view: a timeline in the browser");
	return err;
}
