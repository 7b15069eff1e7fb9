/* SPDX-License-Identifier: BSD-2-Clause */
/* lines.c: a printed page as lines, and the part of it that is seen. */
#include "lines.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static size_t line_of(const struct lines *lines, size_t offset)
{
	size_t low = 0, high = lines->count;

	while (high - low > 1) {
		size_t middle = low + (high - low) / 2;

		if (lines->starts[middle] <= offset)
			low = middle;
		else
			high = middle;
	}
	return low;
}

static int find_lines(struct lines *lines)
{
	size_t at = strspn(lines->text, "\n"), count = 1;

	for (const char *c = lines->text; *c; c++)
		count += *c == '\n';
	lines->starts = calloc(count + 1, sizeof(*lines->starts));
	if (!lines->starts)
		return -ENOMEM;
	while (lines->text[at]) {
		lines->starts[lines->count++] = at;
		at += strcspn(lines->text + at, "\n");
		at += lines->text[at] == '\n';
	}
	lines->starts[lines->count] = at;
	return 0;
}

int lines_take(struct lines *lines, char *text, struct report_rows *rows)
{
	*lines = (struct lines){.text = text, .rows = rows->items, .n_rows = rows->count};
	rows->items = NULL;
	if (!text || find_lines(lines) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < lines->n_rows; i++) {
		lines->rows[i].heading = line_of(lines, lines->rows[i].heading);
		lines->rows[i].at = line_of(lines, lines->rows[i].at);
	}
	return 0;
}

void lines_free(struct lines *lines)
{
	free(lines->text);
	free(lines->starts);
	free(lines->rows);
	*lines = (struct lines){.count = 0};
}

/* The first row at this line or below; n_rows: none. */
static size_t row_below(const struct lines *lines, size_t line)
{
	size_t low = 0, high = lines->n_rows;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (lines->rows[middle].at < line)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Lines of the heading that stays at the top; *first is the first of them. */
static size_t sticky(const struct lines *lines, size_t top, size_t *first)
{
	size_t row = row_below(lines, top), begin;

	/* Notes may stand below the last row of a table. */
	if (row == lines->n_rows || lines->rows[row].heading >= top)
		return 0;
	*first = lines->rows[row].heading;
	begin = row_below(lines, *first);
	return lines->rows[begin].at - *first;
}

size_t lines_at(const struct lines *lines, const struct sight *sight, int place)
{
	size_t first, stays = sticky(lines, sight->top, &first), line;

	line = (size_t)place < stays ? first + (size_t)place : sight->top + (size_t)place;
	return line < lines->count ? line : lines->count;
}

static size_t last_top(const struct lines *lines, int height)
{
	return lines->count > (size_t)height ? lines->count - (size_t)height : 0;
}

static bool is_seen(const struct lines *lines, const struct sight *sight, int height, size_t row)
{
	size_t first, stays = sticky(lines, sight->top, &first);

	return row < lines->n_rows && lines->rows[row].at >= sight->top + stays &&
	       lines->rows[row].at < sight->top + (size_t)height;
}

bool lines_seen(const struct lines *lines, const struct sight *sight, int height)
{
	return is_seen(lines, sight, height, sight->row);
}

void lines_follow(const struct lines *lines, struct sight *sight, int height)
{
	size_t line;

	if (sight->row >= lines->n_rows)
		sight->row = lines->n_rows ? lines->n_rows - 1 : 0;
	if (sight->top > last_top(lines, height))
		sight->top = last_top(lines, height);
	if (!lines->n_rows)
		return;
	line = lines->rows[sight->row].at;
	if (line >= sight->top + (size_t)height)
		sight->top = line - (size_t)height + 1;
	while (sight->top && !lines_seen(lines, sight, height) &&
	       line < sight->top + (size_t)height)
		sight->top--;
}

/* Selects the nearest row that is seen, if the selected one is not. */
static void select_seen(const struct lines *lines, struct sight *sight, int height, bool upwards)
{
	size_t row = row_below(lines, sight->top);

	if (lines_seen(lines, sight, height))
		return;
	while (row < lines->n_rows && !is_seen(lines, sight, height, row) &&
	       lines->rows[row].at < sight->top + (size_t)height)
		row++;
	if (!is_seen(lines, sight, height, row))
		return;
	while (upwards && is_seen(lines, sight, height, row + 1))
		row++;
	sight->row = row;
}

static void move_line(const struct lines *lines, struct sight *sight, int height, bool down)
{
	size_t next = down ? sight->row + 1 : sight->row - 1; /* of row 0: none */

	if (lines_seen(lines, sight, height) && is_seen(lines, sight, height, next)) {
		sight->row = next;
		return;
	}
	if (down && sight->top < last_top(lines, height))
		sight->top++;
	else if (!down && sight->top)
		sight->top--;
	if (is_seen(lines, sight, height, next))
		sight->row = next;
	else
		select_seen(lines, sight, height, !down);
}

void lines_move(const struct lines *lines, struct sight *sight, int height, enum move move)
{
	size_t most = last_top(lines, height), first, stays = sticky(lines, sight->top, &first);
	size_t page = (size_t)height > stays + 1 ? (size_t)height - stays - 1 : 1;

	switch (move) {
	case MOVE_UP:
	case MOVE_DOWN:
		move_line(lines, sight, height, move == MOVE_DOWN);
		return;
	case MOVE_PAGE_UP:
		if (!sight->top)
			sight->row = 0;
		sight->top = sight->top > page ? sight->top - page : 0;
		break;
	case MOVE_PAGE_DOWN:
		if (sight->top == most && lines->n_rows)
			sight->row = lines->n_rows - 1;
		sight->top = most - sight->top > page ? sight->top + page : most;
		break;
	case MOVE_HOME:
	case MOVE_END:
		sight->top = move == MOVE_END ? most : 0;
		sight->row = move == MOVE_END && lines->n_rows ? lines->n_rows - 1 : 0;
		break;
	}
	select_seen(lines, sight, height, move == MOVE_PAGE_UP || move == MOVE_END);
}

size_t labels_first(const int *widths, size_t n, size_t chosen, int width, size_t *end)
{
	size_t first = 0;

	for (;; first++) {
		int used = 0;

		for (*end = first; *end < n && used + widths[*end] <= width; ++*end)
			used += widths[*end] + 2;
		if (*end > chosen || first >= chosen)
			return first;
	}
}
