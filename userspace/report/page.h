/* SPDX-License-Identifier: BSD-2-Clause */
/* page.h: prints headings, paragraphs and tables within a given width. */
#ifndef GCPROF_PAGE_H
#define GCPROF_PAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct report_row;
struct report_rows;

struct page {
	FILE *out;
	int width;
	bool colour;
	struct report_rows *rows; /* notes the rows of tables that are printed; NULL: does not */
};

enum style { STYLE_PLAIN, STYLE_HEADING, STYLE_DIM, STYLE_WARNING };

/* Columns of a UTF-8 text on a terminal. */
int text_width(const char *text);

/* Prints an empty line and a heading. */
void page_heading(const struct page *page, const char *title);

/* Prints a paragraph, broken between words, each line indented by `indent` spaces. */
void page_paragraph(const struct page *page, enum style style, int indent, const char *format, ...)
	__attribute__((format(printf, 4, 5)));

/* Closes a memory stream whose text is *text and prints that, unless it is empty, as a paragraph
 * that is indented by 2 spaces; then frees it. 0 or -ENOMEM. */
int page_written(const struct page *page, FILE *stream, char **text);

/* Notes that this row is printed, if the page notes rows (report.h). 0 or -ENOMEM. */
int page_note_row(const struct page *page, const struct report_row *row);

/* Prints a text on one line; if it does not fit, it ends with an ellipsis. */
void page_line(const struct page *page, enum style style, int indent, const char *text);

struct column {
	const char *top, *title; /* two lines of heading; top may be NULL */
	bool left;               /* otherwise right-aligned */
	int drop;                /* order of dropping if space is short, highest first; 0: never */
	int flexible;            /* > 0: may be cut in the middle, down to this many columns */
};

struct table;

/* `columns` is borrowed until table_free(). NULL: no memory. */
struct table *table_create(const struct column *columns, size_t n_columns);

/*
 * Fills the next cell, row by row. Text is copied, and cut in the middle if it is too long;
 * NULL is shown as "-". A column with only such cells is left out. table_print() reports
 * lack of memory.
 */
void table_cell(struct table *table, const char *text);

/* What the row of the next cell shows: see report.h. Otherwise that is nothing. */
void table_shows_row(struct table *table, int kind, const void *row);

/* Adds a paragraph below the row of the last cell; the text is copied. */
void table_note(struct table *table, const char *text);

/* Whether a column has room and contents. To be called when all cells are filled. */
bool table_shows(const struct table *table, const struct page *page, size_t column);

/* Prints the table, indented by 2 spaces. 0 or -ENOMEM. */
int table_print(const struct table *table, const struct page *page);
void table_free(struct table *table); /* NULL is allowed */

#endif
