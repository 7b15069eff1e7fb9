/* SPDX-License-Identifier: BSD-2-Clause */
/* lines.h: a printed page as lines, and the part of it that is seen. */
#ifndef GCPROF_BROWSE_LINES_H
#define GCPROF_BROWSE_LINES_H

#include <stdbool.h>
#include <stddef.h>

#include "../report/report.h"

/* A page; heading and at of its rows are numbers of lines. */
struct lines {
	char *text;
	size_t *starts; /* offsets of lines, and of the end */
	size_t count;
	struct report_row *rows;
	size_t n_rows;
};

/*
 * Takes over a text and its rows, also on failure; without leading empty lines. 0 or -ENOMEM.
 */
int lines_take(struct lines *lines, char *text, struct report_rows *rows);
void lines_free(struct lines *lines);

/* What is seen of a page, and the selected row, if it has any. */
struct sight {
	size_t row, top;
};

enum move {
	MOVE_UP,
	MOVE_DOWN,
	MOVE_PAGE_UP,
	MOVE_PAGE_DOWN,
	MOVE_HOME,
	MOVE_END,
};

/*
 * Moves the selection to the next row if that is seen, otherwise the page, by a line. `height` is
 * that of the sight.
 */
void lines_move(const struct lines *lines, struct sight *sight, int height, enum move move);

/* Is the selected row seen? */
bool lines_seen(const struct lines *lines, const struct sight *sight, int height);

/* Moves the page so that the selected row is seen. */
void lines_follow(const struct lines *lines, struct sight *sight, int height);

/*
 * The line that is seen in `place` (from 0) of the sight: behind the heading of a table, which
 * stays while its rows go by; lines->count: none.
 */
size_t lines_at(const struct lines *lines, const struct sight *sight, int place);

/*
 * The first of `n` labels that are shown in `width` columns, each with two blanks behind it, so
 * that the chosen one is whole; *end is behind the last that fits.
 */
size_t labels_first(const int *widths, size_t n, size_t chosen, int width, size_t *end);

#endif
