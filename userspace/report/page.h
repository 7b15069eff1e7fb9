/* SPDX-License-Identifier: BSD-2-Clause */
/* page.h: text that keeps to a width: headings, paragraphs, tables. */
#ifndef GCPROF_PAGE_H
#define GCPROF_PAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct page {
	FILE *out;
	int width;
	bool colour;
};

enum style { STYLE_PLAIN, STYLE_HEADING, STYLE_DIM, STYLE_WARNING };

/* Columns that a text takes on a terminal; it must be UTF-8. */
int text_width(const char *text);

/* An empty line, then a heading. */
void page_heading(const struct page *page, const char *title);

/* A paragraph, broken between words; its lines begin with `indent` spaces. */
void page_paragraph(const struct page *page, enum style style, int indent, const char *format, ...)
	__attribute__((format(printf, 4, 5)));

/* A text on one line, which ends in … where there is no room for all of it. */
void page_line(const struct page *page, enum style style, int indent, const char *text);

struct column {
	const char *top, *title; /* two lines of heading; top may be NULL */
	bool left;               /* else aligned to the right */
	int drop;                /* the highest is left out first where room is short; 0: never */
	int flexible;            /* > 0: may be cut in the middle down to so many columns */
};

struct table;

/* `columns` is borrowed until table_free. NULL: no memory. */
struct table *table_create(const struct column *columns, size_t n_columns);

/*
 * Fills in the next cell, row by row. Text is copied and cut in the middle if too
 * long; NULL is shown as "-". A column of nothing else is left out. Memory that
 * runs out is reported by table_print.
 */
void table_cell(struct table *table, const char *text);

/* A paragraph below the row whose last cell was filled in; the text is copied. */
void table_note(struct table *table, const char *text);

/* Is there room for a column, and something in it? Once all cells are there. */
bool table_shows(const struct table *table, const struct page *page, size_t column);

/* Indented by 2 spaces. 0 or -ENOMEM. */
int table_print(const struct table *table, const struct page *page);
void table_free(struct table *table); /* NULL is allowed */

#endif
