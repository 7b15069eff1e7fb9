/* SPDX-License-Identifier: BSD-2-Clause */
/* query_print.c: prints the rows of a result as an aligned table, CSV or JSON. */
#include "query.h"

#include <math.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../model/world/arena.h"
#include "../../model/world/text.h"
#include "../../util/ascii.h"

enum {
	PAGE_ROWS = 1000, /* rows at the start of a table that determine its column widths */
	COLUMN_GAP = 2,
};

/*
 * Prints a number that reads back as the same value; a value that is not a JSON number
 * becomes null.
 */
static void print_real(struct output *output, double value, const char *none)
{
	char digits[40];

	if (!isfinite(value)) {
		output_text(output, none);
		return;
	}
	snprintf(digits, sizeof(digits), "%.15g", value);
	if (strtod(digits, NULL) != value)
		snprintf(digits, sizeof(digits), "%.17g", value);
	output_text(output, digits);
}

/* The bytes of a text or blob, which may contain zeros. */
static struct bytes bytes_of(sqlite3_stmt *statement, int column)
{
	const char *data = sqlite3_column_blob(statement, column);

	return (struct bytes){data ? data : "",
			      data ? (size_t)sqlite3_column_bytes(statement, column) : 0};
}

/* --- CSV, RFC 4180 ------------------------------------------------------------------------- */

static void csv_text(struct output *output, struct bytes bytes, const char *before)
{
	bool plain = true;

	for (size_t i = 0; i < bytes.size && plain; i++)
		plain = !strchr("\",\r\n", bytes.data[i]) || !bytes.data[i];
	if (plain) {
		output_text(output, before);
		output_bytes(output, bytes.data, bytes.size);
		return;
	}
	output_text(output, "\"");
	output_text(output, before);
	for (size_t i = 0; i < bytes.size; i++) {
		if (bytes.data[i] == '"')
			output_text(output, "\"");
		output_bytes(output, bytes.data + i, 1);
	}
	output_text(output, "\"");
}

/* Spreadsheets would run a text that begins so as a formula; it may be of a recorded program. */
static bool is_formula(struct bytes bytes)
{
	return bytes.size && bytes.data[0] && strchr("=+-@\t\r", bytes.data[0]);
}

static void csv_cell(sqlite3_stmt *statement, int column, struct output *output)
{
	struct bytes bytes;

	switch (sqlite3_column_type(statement, column)) {
	case SQLITE_NULL:
		break;
	case SQLITE_INTEGER:
		output_integer(output, sqlite3_column_int64(statement, column));
		break;
	case SQLITE_FLOAT:
		print_real(output, sqlite3_column_double(statement, column), "");
		break;
	default:
		bytes = bytes_of(statement, column);
		csv_text(output, bytes, is_formula(bytes) ? "'" : "");
	}
}

static int print_csv(sqlite3_stmt *statement, struct output *output)
{
	int columns = sqlite3_column_count(statement), status;

	for (int i = 0; i < columns; i++) {
		const char *name = sqlite3_column_name(statement, i);

		output_text(output, i ? "," : "");
		if (name)
			csv_text(output, (struct bytes){name, strlen(name)}, "");
	}
	output_text(output, "\n");
	while ((status = sqlite3_step(statement)) == SQLITE_ROW) {
		for (int i = 0; i < columns; i++) {
			output_text(output, i ? "," : "");
			csv_cell(statement, i, output);
		}
		output_text(output, "\n");
	}
	return status;
}

/* --- JSON ------------------------------------------------------------------------------------- */

static void json_cell(sqlite3_stmt *statement, int column, struct output *output)
{
	switch (sqlite3_column_type(statement, column)) {
	case SQLITE_NULL:
		output_text(output, "null");
		break;
	case SQLITE_INTEGER:
		output_integer(output, sqlite3_column_int64(statement, column));
		break;
	case SQLITE_FLOAT:
		print_real(output, sqlite3_column_double(statement, column), "null");
		break;
	default:
		output_string(output, (const char *)sqlite3_column_text(statement, column));
	}
}

static int print_json(sqlite3_stmt *statement, struct output *output)
{
	int columns = sqlite3_column_count(statement), status;
	bool begun = false;

	output_text(output, "[");
	while ((status = sqlite3_step(statement)) == SQLITE_ROW) {
		output_text(output, begun ? ",\n{" : "\n{");
		begun = true;
		for (int i = 0; i < columns; i++) {
			output_text(output, i ? "," : "");
			output_string(output, sqlite3_column_name(statement, i));
			output_text(output, ":");
			json_cell(statement, i, output);
		}
		output_text(output, "}");
	}
	output_text(output, "\n]\n");
	return status;
}

/* --- aligned table ---------------------------------------------------------------------------- */

struct shown {
	const char *text;
	bool number;
};

struct page {
	struct arena *arena;
	struct shown *cells; /* rows of `columns` */
	size_t rows, columns;
	int *widths;
};

static int width_of(const char *text)
{
	size_t size = strlen(text), length;
	uint32_t character = 0;
	int width = 0;

	for (size_t at = 0; at < size; at += length ? length : 1) {
		length = utf8_decode(text + at, size - at, &character);
		width += length ? character_width(character) : 1;
	}
	return width;
}

/* Few digits: CSV and JSON have the exact numbers. */
static void format_real(char *digits, size_t size, double value)
{
	double magnitude = fabs(value);

	if (magnitude >= 1e15 || (magnitude > 0 && magnitude < 1e-3))
		snprintf(digits, size, "%.4g", value);
	else
		snprintf(digits, size, "%.*f",
			 magnitude >= 1000 ? 0
			 : magnitude >= 10 ? 1
					   : 3,
			 value);
}

/* NULL: no memory. */
static const char *printable(struct arena *arena, struct bytes bytes)
{
	const char *text = name_clean(arena, bytes);
	char *ascii;

	if (!text || !ascii_only())
		return text;
	ascii = ascii_text(text);
	text = ascii ? name_clean(arena, (struct bytes){ascii, strlen(ascii)}) : NULL;
	free(ascii);
	return text;
}

static struct shown show(sqlite3_stmt *statement, int column, struct arena *arena)
{
	char digits[40] = "-";
	struct bytes bytes = {digits, 0};

	switch (sqlite3_column_type(statement, column)) {
	case SQLITE_INTEGER:
		snprintf(digits, sizeof(digits), "%lld",
			 (long long)sqlite3_column_int64(statement, column));
		break;
	case SQLITE_FLOAT:
		format_real(digits, sizeof(digits), sqlite3_column_double(statement, column));
		break;
	case SQLITE_NULL:
		break;
	default:
		return (struct shown){printable(arena, bytes_of(statement, column)), false};
	}
	bytes.size = strlen(digits);
	return (struct shown){name_clean(arena, bytes), true};
}

/* Fills a page; SQLITE_ROW: there are more rows. */
static int read_page(sqlite3_stmt *statement, struct page *page)
{
	int status = SQLITE_ROW;

	for (page->rows = 0; page->rows < PAGE_ROWS; page->rows++) {
		status = sqlite3_step(statement);
		if (status != SQLITE_ROW)
			return status;
		for (size_t i = 0; i < page->columns; i++) {
			struct shown *cell = &page->cells[page->rows * page->columns + i];

			*cell = show(statement, (int)i, page->arena);
			if (!cell->text)
				return SQLITE_NOMEM;
		}
	}
	return status;
}

static void measure(struct page *page)
{
	for (size_t i = 0; i < page->rows * page->columns; i++) {
		int width = width_of(page->cells[i].text);

		if (width > page->widths[i % page->columns])
			page->widths[i % page->columns] = width;
	}
}

static void pad(struct output *output, int count)
{
	while (count-- > 0)
		output_text(output, " ");
}

static void print_row(const struct page *page, const struct shown *row, struct output *output)
{
	for (size_t i = 0; i < page->columns; i++) {
		int space = page->widths[i] - width_of(row[i].text);

		pad(output, i ? COLUMN_GAP : 0);
		if (row[i].number)
			pad(output, space);
		output_text(output, row[i].text);
		if (!row[i].number && i + 1 < page->columns)
			pad(output, space);
	}
	output_text(output, "\n");
}

/* A heading is right-aligned if the first row has a number in its column. */
static bool print_heading(sqlite3_stmt *statement, struct page *page, struct output *output)
{
	struct shown *heading = arena_alloc(page->arena, page->columns * sizeof(*heading));

	if (!heading)
		return false;
	for (size_t i = 0; i < page->columns; i++) {
		const char *name = sqlite3_column_name(statement, (int)i);
		struct bytes bytes = {name ? name : "", name ? strlen(name) : 0};
		int width;

		heading[i].text = printable(page->arena, bytes);
		if (!heading[i].text)
			return false;
		heading[i].number = page->rows && page->cells[i].number;
		width = width_of(heading[i].text);
		if (width > page->widths[i])
			page->widths[i] = width;
	}
	print_row(page, heading, output);
	for (size_t i = 0; i < page->columns; i++) {
		pad(output, i ? COLUMN_GAP : 0);
		for (int j = 0; j < page->widths[i]; j++)
			output_text(output, "-");
	}
	output_text(output, "\n");
	return true;
}

static int print_pages(sqlite3_stmt *statement, struct page *page, struct output *output)
{
	bool first = true;
	int status;

	do {
		if (arena_create(&page->arena) < 0)
			return SQLITE_NOMEM;
		status = read_page(statement, page);
		measure(page);
		if (first && !print_heading(statement, page, output))
			status = SQLITE_NOMEM;
		first = false;
		for (size_t i = 0; i < page->rows; i++)
			print_row(page, &page->cells[i * page->columns], output);
		arena_free(page->arena);
	} while (status == SQLITE_ROW);
	return status;
}

static int print_table(sqlite3_stmt *statement, struct output *output)
{
	size_t columns = (size_t)sqlite3_column_count(statement);
	struct page page = {
		.columns = columns,
		.cells = calloc(PAGE_ROWS * columns + 1, sizeof(*page.cells)),
		.widths = calloc(columns + 1, sizeof(*page.widths)),
	};
	int status = page.cells && page.widths ? print_pages(statement, &page, output)
					       : SQLITE_NOMEM;

	free(page.cells);
	free(page.widths);
	return status;
}

int query_print(sqlite3_stmt *statement, enum query_format format, struct output *output)
{
	switch (format) {
	case QUERY_CSV:
		return print_csv(statement, output);
	case QUERY_JSON:
		return print_json(statement, output);
	default:
		return print_table(statement, output);
	}
}
