/* SPDX-License-Identifier: BSD-2-Clause */
/* table.c: fits tables to a width: leaves out columns and shortens long texts. */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../model/world/arena.h"
#include "../model/world/text.h"
#include "page.h"
#include "report.h"

enum { COLUMNS_MAX = 24, GAP = 2, INDENT = 2, NOTE_INDENT = 6 };

struct note {
	size_t row;
	char *text;
};

struct subject {
	int kind;
	const void *row;
};

struct table {
	const struct column *columns;
	size_t n_columns;
	char **cells; /* row by row */
	size_t n_cells, capacity;
	struct note *notes; /* in the order of their rows */
	size_t n_notes, notes_capacity;
	struct subject *subjects; /* of the first rows */
	size_t n_subjects, subjects_capacity;
	bool failed; /* a cell could not be stored */
};

struct layout {
	int widths[COLUMNS_MAX]; /* 0: left out */
};

struct table *table_create(const struct column *columns, size_t n_columns)
{
	struct table *table = calloc(1, sizeof(*table));

	if (table) {
		table->columns = columns;
		table->n_columns = n_columns < COLUMNS_MAX ? n_columns : COLUMNS_MAX;
	}
	return table;
}

void table_cell(struct table *table, const char *text)
{
	char *copy = strdup(text ? text : "-");

	if (!copy || array_reserve(&table->cells, &table->capacity, table->n_cells,
				   sizeof(*table->cells)) < 0) {
		free(copy);
		table->failed = true;
		return;
	}
	table->cells[table->n_cells++] = copy;
}

void table_shows_row(struct table *table, int kind, const void *row)
{
	size_t rows = table->n_cells / table->n_columns + 1;

	if (array_reserve(&table->subjects, &table->subjects_capacity, rows,
			  sizeof(*table->subjects)) < 0) {
		table->failed = true;
		return;
	}
	while (table->n_subjects < rows)
		table->subjects[table->n_subjects++] = (struct subject){ROWS_END, NULL};
	table->subjects[rows - 1] = (struct subject){kind, row};
}

void table_note(struct table *table, const char *text)
{
	size_t row = table->n_cells / table->n_columns;

	if (!row || array_reserve(&table->notes, &table->notes_capacity, table->n_notes,
				  sizeof(*table->notes)) < 0) {
		table->failed = true;
		return;
	}
	table->notes[table->n_notes].row = row - 1;
	table->notes[table->n_notes].text = strdup(text);
	table->failed |= !table->notes[table->n_notes++].text;
}

void table_free(struct table *table)
{
	if (!table)
		return;
	for (size_t i = 0; i < table->n_notes; i++)
		free(table->notes[i].text);
	free(table->notes);
	free(table->subjects);
	for (size_t i = 0; i < table->n_cells; i++)
		free(table->cells[i]);
	free(table->cells);
	free(table);
}

static int greater(int a, int b)
{
	return a > b ? a : b;
}

static int smaller(int a, int b)
{
	return a < b ? a : b;
}

/* A column without any value, such as that of a stream that was not recorded. */
static bool is_blank(const struct table *table, size_t column)
{
	for (size_t i = column; i < table->n_cells; i += table->n_columns)
		if (strcmp(table->cells[i], "-") != 0)
			return false;
	return table->n_cells > 0;
}

/* The width of a column with unlimited space. */
static int natural_width(const struct table *table, size_t column)
{
	const struct column *head = &table->columns[column];
	int width = greater(text_width(head->title), head->top ? text_width(head->top) : 0);

	for (size_t i = column; i < table->n_cells; i += table->n_columns)
		width = greater(width, text_width(table->cells[i]));
	return width;
}

static int least_width(const struct table *table, const int *natural, size_t column)
{
	int flexible = table->columns[column].flexible;

	return flexible ? smaller(flexible, natural[column]) : natural[column];
}

/* Distributes the remaining space among the columns that need more. */
static void widen(struct layout *layout, const int *natural, size_t n, int room)
{
	bool wanted = true;

	while (room > 0 && wanted) {
		wanted = false;
		for (size_t i = 0; i < n && room > 0; i++) {
			if (!layout->widths[i] || layout->widths[i] >= natural[i])
				continue;
			layout->widths[i]++;
			room--;
			wanted = true;
		}
	}
}

/* The next column to leave out; COLUMNS_MAX: none. First those that may be, then all figures but
 * the first, from the right. */
static size_t find_victim(const struct table *table, const struct layout *layout)
{
	size_t victim = COLUMNS_MAX, last = COLUMNS_MAX;
	int figures = 0;

	for (size_t i = 0; i < table->n_columns; i++) {
		const struct column *column = &table->columns[i];

		if (!layout->widths[i])
			continue;
		if (column->drop &&
		    (victim == COLUMNS_MAX || column->drop > table->columns[victim].drop))
			victim = i;
		if (!column->flexible && figures++)
			last = i;
	}
	return victim != COLUMNS_MAX ? victim : last;
}

static void lay_out(const struct table *table, int width, struct layout *layout)
{
	int natural[COLUMNS_MAX], room = width + GAP - INDENT, grow;
	size_t victim;

	for (size_t i = 0; i < table->n_columns; i++) {
		natural[i] = natural_width(table, i);
		if (is_blank(table, i))
			continue;
		layout->widths[i] = least_width(table, natural, i);
		room -= layout->widths[i] + GAP;
	}
	while (room < 0) {
		victim = find_victim(table, layout);
		if (victim == COLUMNS_MAX)
			break;
		room += layout->widths[victim] + GAP;
		layout->widths[victim] = 0;
	}
	widen(layout, natural, table->n_columns, room);
	/* Still too wide, and nothing more can be left out: flexible columns shrink further. */
	for (size_t i = 0; i < table->n_columns && room < 0; i++) {
		grow = table->columns[i].flexible
			       ? smaller(-room, greater(layout->widths[i] - 1, 0))
			       : 0;
		layout->widths[i] -= grow;
		room += grow;
	}
}

/* Bytes of the longest prefix of `text` that takes at most `width` columns. */
static size_t head_bytes(const char *text, int width)
{
	size_t size = strlen(text), at = 0, length;
	uint32_t character;

	while (at < size && (length = utf8_decode(text + at, size - at, &character))) {
		width -= character_width(character);
		if (width < 0)
			break;
		at += length;
	}
	return at;
}

/* Start of the longest suffix that takes at most `width` columns. */
static size_t tail_start(const char *text, int width)
{
	size_t skip = 0, size = strlen(text), length;
	int excess = text_width(text) - width;
	uint32_t character;

	while (skip < size && excess > 0 &&
	       (length = utf8_decode(text + skip, size - skip, &character))) {
		excess -= character_width(character);
		skip += length;
	}
	return skip;
}

/* The opening parenthesis that matches the last character; NULL: that is not a parenthesis. */
static const char *find_opening(const char *text)
{
	int depth = 0;

	for (size_t i = strlen(text); i > 0; i--) {
		depth += (text[i - 1] == ')') - (text[i - 1] == '(');
		if (!depth)
			return text[i - 1] == '(' ? text + i - 1 : NULL;
	}
	return NULL;
}

/*
 * The name of a C++ function without its parameter types and, for a template, the return
 * type; a copy of any other text. NULL: no memory.
 */
static char *drop_types(const char *text)
{
	const char *opening = find_opening(text), *begin;
	size_t indent = strspn(text, " "); /* in a tree */
	char *name = NULL;
	int depth = 0;

	/* "main (main.c)" is a name and its file, "inner < outer" is a site. */
	if (!opening || opening == text || opening[-1] == ' ' || strstr(text, " < "))
		return strdup(text);
	indent += strncmp(text + indent, "+ ", 2) ? 0 : 2;
	begin = text + indent;
	for (const char *at = begin; at < opening; at++) {
		depth += (*at == '<' || *at == '(') - (*at == '>' || *at == ')');
		if (*at == ' ' && !depth)
			begin = at + 1;
	}
	if (asprintf(&name, "%.*s%.*s", (int)indent, text, (int)(opening - begin), begin) < 0)
		return NULL;
	return name;
}

static bool is_part(char c)
{
	return islower((unsigned char)c) || isdigit((unsigned char)c) || c == '_';
}

/*
 * The length of a package component at `at` in a name with a class, such as java in
 * java.util.Map.put; 0: none. A package of a single word, as in Go, is kept.
 */
static size_t package_part(const char *text, const char *at)
{
	bool first = at == text || at[-1] == ' ';
	size_t size = 0, rest;

	if (!first && at[-1] != '.')
		return 0;
	while (is_part(at[size]))
		size++;
	if (size < 2 || at[size] != '.')
		return 0;
	for (rest = size + 1; is_part(at[rest]);)
		rest++;
	if (first && at[rest] != '.')
		return 0;
	for (rest = size; at[rest] && at[rest] != ' '; rest++)
		if (at[rest] == '.' && isupper((unsigned char)at[rest + 1]))
			return size;
	return 0;
}

/*
 * Abbreviates packages to their first letters, from the left, until the text fits: the
 * names of class and method matter more.
 */
static void shorten_packages(char *text, int width)
{
	int excess = text_width(text) - width;

	for (char *at = text; *at && excess > 0; at++) {
		size_t size = package_part(text, at);

		if (!size)
			continue;
		memmove(at + 1, at + size, strlen(at + size) + 1);
		excess -= (int)size - 1;
	}
}

/* The arguments of Go's generic functions become [...], as in Go's own stack traces. */
static void drop_shapes(char *text)
{
	static const char mark[] = "[go.shape.", dots[] = "...";

	for (char *at = text; (at = strstr(at, mark)); at++) {
		char *end = at;
		int depth = 0;

		do
			depth += (*end == '[') - (*end == ']');
		while (depth && *end++);
		/* `end` is at the closing bracket; shapes are longer than dots. */
		if (!depth) {
			memcpy(at + 1, dots, sizeof(dots) - 1);
			memmove(at + sizeof(dots), end, strlen(end) + 1);
		}
	}
}

static bool is_path(char c)
{
	return isalnum((unsigned char)c) || (c && strchr("./_-~%", c));
}

/* Bytes of the directories at `at` in a name with an import path, as of Go's net/http.Get; 0: none.
 */
static size_t path_part(const char *text, const char *at)
{
	size_t size = 0, end;

	if (!isalnum((unsigned char)*at) ||
	    (at != text && (is_path(at[-1]) || strchr(":$", at[-1]))))
		return 0;
	for (end = 0; is_path(at[end]); end++)
		size = at[end] == '/' ? end + 1 : size;
	return memchr(at + size, '.', end - size) ? size : 0;
}

/* Omits the directories of import paths, from the left, until the text fits. */
static void shorten_paths(char *text, int width)
{
	int excess = text_width(text) - width;

	for (char *at = text; *at && excess > 0; at++) {
		size_t size = path_part(text, at);

		memmove(at, at + size, strlen(at + size) + 1);
		excess -= (int)size;
	}
}

/* The start of a name matters more than its end and gets three fifths. */
static void print_cut(FILE *out, const char *text, int width)
{
	int head = (width - 1) * 3 / 5, tail = width - 1 - head;
	size_t bytes = head_bytes(text, head);

	fwrite(text, 1, bytes, out);
	fputs("\u2026", out);
	fputs(text + tail_start(text, tail), out);
}

static void print_cell(FILE *out, const char *text, int width, bool left, bool last)
{
	char *name = text_width(text) > width ? drop_types(text) : NULL;
	int excess;

	if (name) {
		drop_shapes(name);
		shorten_paths(name, width);
		shorten_packages(name, width);
	}
	text = name ? name : text;
	excess = text_width(text) - width;
	if (!left && excess < 0)
		fprintf(out, "%*s", -excess, "");
	if (excess > 0)
		print_cut(out, text, width);
	else
		fputs(text, out);
	if (left && excess < 0 && !last)
		fprintf(out, "%*s", -excess, "");
	free(name);
}

static void print_row(const struct table *table, const struct layout *layout,
		      const char *const *cells, FILE *out)
{
	size_t last = 0;
	bool first = true;

	fprintf(out, "%*s", INDENT, "");
	for (size_t i = 0; i < table->n_columns; i++)
		if (layout->widths[i] && *cells[i])
			last = i;
	for (size_t i = 0; i <= last; i++) {
		if (!layout->widths[i])
			continue;
		if (!first)
			fprintf(out, "%*s", GAP, "");
		first = false;
		print_cell(out, cells[i], layout->widths[i], table->columns[i].left, i == last);
	}
}

static void print_heading(const struct table *table, const struct layout *layout,
			  const struct page *page)
{
	const char *cells[COLUMNS_MAX];
	bool two_lines = false;

	for (size_t i = 0; i < table->n_columns; i++) {
		cells[i] = table->columns[i].top ? table->columns[i].top : "";
		two_lines |= layout->widths[i] && *cells[i];
	}
	for (int line = two_lines ? 0 : 1; line < 2; line++) {
		for (size_t i = 0; line && i < table->n_columns; i++)
			cells[i] = table->columns[i].title;
		fputs(page->colour ? "\033[2m" : "", page->out);
		print_row(table, layout, cells, page->out);
		fputs(page->colour ? "\033[0m\n" : "\n", page->out);
	}
}

bool table_shows(const struct table *table, const struct page *page, size_t column)
{
	struct layout layout = {0};

	if (!table->failed)
		lay_out(table, page->width, &layout);
	return layout.widths[column] != 0;
}

/* Has one of the cells, with all of its text, what is looked for? */
static bool row_matches(const struct table *table, const struct report_rows *rows, size_t first)
{
	bool found = !rows || !*rows->match;

	for (size_t i = first; !found && i < first + table->n_columns; i++)
		found = strcasestr(table->cells[i], rows->match) != NULL;
	return found;
}

int page_note_row(const struct page *page, const struct report_row *row)
{
	struct report_rows *rows = page->rows;

	if (!rows)
		return 0;
	if (array_reserve(&rows->items, &rows->capacity, rows->count, sizeof(*rows->items)) < 0)
		return -ENOMEM;
	rows->items[rows->count++] = *row;
	return 0;
}

static int note_row(const struct table *table, const struct page *page, size_t number, size_t head)
{
	struct subject subject = {ROWS_END, NULL};

	if (!page->rows)
		return 0;
	if (number < table->n_subjects)
		subject = table->subjects[number];
	return page_note_row(page, &(struct report_row){head, (size_t)ftell(page->out),
							subject.kind, subject.row});
}

static void print_notes(const struct table *table, const struct page *page, size_t row)
{
	for (size_t i = 0; i < table->n_notes; i++)
		if (table->notes[i].row == row)
			page_paragraph(page, STYLE_PLAIN, NOTE_INDENT, "%s", table->notes[i].text);
}

int table_print(const struct table *table, const struct page *page)
{
	struct report_rows *rows = page->rows;
	struct layout layout = {0};
	size_t head;
	int err = 0;

	if (table->failed)
		return -ENOMEM;
	lay_out(table, page->width, &layout);
	head = rows ? (size_t)ftell(page->out) : 0;
	print_heading(table, &layout, page);
	for (size_t i = 0; !err && i + table->n_columns <= table->n_cells; i += table->n_columns) {
		if (!row_matches(table, rows, i))
			continue;
		err = note_row(table, page, i / table->n_columns, head);
		print_row(table, &layout, (const char *const *)table->cells + i, page->out);
		fputc('\n', page->out);
		print_notes(table, page, i / table->n_columns);
	}
	return err;
}
