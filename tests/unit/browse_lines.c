/* SPDX-License-Identifier: BSD-2-Clause */
/* browse_lines.c: pages of the browser: lines, rows, what is seen of them. */
#include <stdlib.h>
#include <string.h>

#include "browse/browse.h"
#include "browse/lines.h"
#include "report/page.h"
#include "test.h"

/* A page of `n` tables of `rows` rows each, below a title and a heading, with a paragraph behind.
 */
static struct lines make_page(size_t n, size_t rows, size_t paragraph)
{
	struct report_rows marks = {.match = ""};
	struct lines lines;
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	marks.items = calloc(n * rows + 1, sizeof(*marks.items));
	CHECK(out && marks.items);
	for (size_t i = 0; i < n; i++) {
		size_t heading;

		fputs("\nTitle\n", out);
		heading = (size_t)ftell(out);
		fputs("  heading\n", out);
		for (size_t j = 0; j < rows; j++) {
			marks.items[marks.count++] =
				(struct report_row){heading, (size_t)ftell(out), 0, NULL};
			fprintf(out, "  row %zu\n", j);
		}
		for (size_t j = 0; j < paragraph; j++)
			fputs("  words\n", out);
	}
	CHECK(fclose(out) == 0);
	CHECK(lines_take(&lines, text, &marks) == 0);
	return lines;
}

static const char *line(const struct lines *lines, size_t number)
{
	static char copy[64];

	if (number == lines->count)
		return "";
	snprintf(copy, sizeof(copy), "%.*s",
		 (int)(lines->starts[number + 1] - lines->starts[number] - 1),
		 lines->text + lines->starts[number]);
	return copy;
}

TEST(a_page_begins_with_its_first_line_and_rows_know_theirs)
{
	struct lines lines = make_page(2, 3, 1);

	CHECK_EQ(lines.count, 13);
	CHECK_STR(line(&lines, 0), "Title");
	CHECK_STR(line(&lines, lines.rows[0].at), "  row 0");
	CHECK_STR(line(&lines, lines.rows[0].heading), "  heading");
	CHECK_STR(line(&lines, lines.rows[5].at), "  row 2");
	CHECK_EQ(lines.rows[5].heading, 8);
	lines_free(&lines);
}

TEST(rows_are_noted_where_they_are_printed_and_those_without_a_text_left_out)
{
	static const struct column columns[] = {{NULL, "n", false, 0, 0},
						{NULL, "name", true, 0, 10}};
	struct report_rows rows = {.match = "VERY"};
	struct page page = {.width = 20, .rows = &rows};
	struct table *table = table_create(columns, 2);
	const int subject = 1;
	char *text = NULL;
	size_t size;

	page.out = open_memstream(&text, &size);
	table_cell(table, "1");
	table_cell(table, "short");
	table_cell(table, "2");
	table_cell(table, "no subject, very long");
	table_shows_row(table, ROWS_type, &subject);
	table_cell(table, "3");
	/* Also where the text is cut. */
	table_cell(table, "begin_of_a_very_long_name_and_end");
	CHECK_EQ(table_print(table, &page), 0);
	table_free(table);
	fclose(page.out);
	CHECK_EQ(rows.count, 2);
	CHECK(strstr(text, "short") == NULL);
	CHECK(strncmp(text + rows.items[0].at, "  2  ", 5) == 0);
	CHECK_EQ(rows.items[0].kind, ROWS_END);
	CHECK(!rows.items[0].row);
	CHECK(strncmp(text + rows.items[1].at, "  3  begin", 10) == 0);
	CHECK_EQ(rows.items[1].kind, ROWS_type);
	CHECK(rows.items[1].row == &subject);
	CHECK_EQ(rows.items[1].heading, 0);
	free(rows.items);
	free(text);
}

TEST(down_visits_every_row_and_every_line_and_up_comes_back)
{
	for (int height = 3; height < 30; height++) {
		struct lines lines = make_page(3, 7, 12);
		struct sight sight = {0};
		size_t visited = 1, before = 0;
		int steps = 0;

		for (; sight.top + (size_t)height < lines.count && steps < 1000; steps++) {
			size_t top = sight.top;

			lines_move(&lines, &sight, height, MOVE_DOWN);
			CHECK(sight.top == top || sight.top == top + 1);
			CHECK(sight.row == before || sight.row == before + 1);
			visited += sight.row != before;
			before = sight.row;
		}
		for (; steps < 2000 && sight.row + 1 < lines.n_rows; steps++) {
			lines_move(&lines, &sight, height, MOVE_DOWN);
			visited += sight.row != before;
			before = sight.row;
			if (steps == 1999)
				break;
		}
		CHECK_EQ(visited, lines.n_rows);
		CHECK_EQ(sight.row, lines.n_rows - 1);
		for (steps = 0; steps < 1000 && (sight.top || sight.row); steps++)
			lines_move(&lines, &sight, height, MOVE_UP);
		CHECK_EQ(sight.top, 0);
		CHECK_EQ(sight.row, 0);
		lines_free(&lines);
	}
}

TEST(the_heading_of_a_table_stays_while_its_rows_go_by)
{
	struct lines lines = make_page(1, 50, 3);
	struct sight sight = {0};

	lines_move(&lines, &sight, 10, MOVE_PAGE_DOWN);
	lines_move(&lines, &sight, 10, MOVE_PAGE_DOWN);
	CHECK_STR(line(&lines, lines_at(&lines, &sight, 0)), "  heading");
	CHECK(lines_seen(&lines, &sight, 10));
	CHECK(lines.rows[sight.row].at > sight.top);
	/* No row lies below it. */
	for (size_t i = 0; i < lines.n_rows; i++)
		if (lines.rows[i].at == sight.top) {
			sight.row = i;
			CHECK(!lines_seen(&lines, &sight, 10));
		}
	lines_move(&lines, &sight, 10, MOVE_END);
	CHECK_STR(line(&lines, lines_at(&lines, &sight, 9)), "  words");
	CHECK(lines_seen(&lines, &sight, 10));
	lines_free(&lines);
}

TEST(after_another_size_the_selected_row_is_in_sight)
{
	struct lines lines = make_page(1, 50, 3);

	for (int height = 3; height < 60; height++)
		for (size_t row = 0; row < 60; row++)
			for (size_t top = 0; top < 60; top += 7) {
				struct sight sight = {row, top};

				lines_follow(&lines, &sight, height);
				CHECK(lines_seen(&lines, &sight, height));
				CHECK_EQ(sight.row, row < 50 ? row : 49);
			}
	lines_free(&lines);
}

TEST(pages_without_rows_or_text_move_and_end)
{
	struct lines lines = make_page(0, 0, 0);
	struct sight sight = {0};

	for (enum move move = MOVE_UP; move <= MOVE_END; move++) {
		lines_move(&lines, &sight, 5, move);
		lines_move(&lines, &sight, 0, move);
		lines_follow(&lines, &sight, 0);
		CHECK_EQ(lines_at(&lines, &sight, 0), lines.count);
		CHECK(!lines_seen(&lines, &sight, 5));
	}
	lines_free(&lines);
	lines = make_page(1, 0, 20);
	sight = (struct sight){0};
	lines_move(&lines, &sight, 5, MOVE_DOWN);
	CHECK_EQ(sight.top, 1);
	lines_move(&lines, &sight, 5, MOVE_END);
	CHECK_EQ(sight.top, lines.count - 5);
	lines_free(&lines);
}

TEST(the_chosen_label_is_always_whole)
{
	static const int widths[] = {8, 11, 7, 7, 8, 7, 7, 9, 10};
	const size_t n = sizeof(widths) / sizeof(*widths);

	for (int width = 11; width < 120; width++)
		for (size_t chosen = 0; chosen < n; chosen++) {
			size_t end, first = labels_first(widths, n, chosen, width, &end);
			int used = 0;

			CHECK(first <= chosen && chosen < end && end <= n);
			for (size_t i = first; i < end; i++)
				used += widths[i] + (i > first ? 2 : 0);
			CHECK(used <= width);
		}
}

TEST(a_term_of_a_filter_is_told_from_a_text)
{
	CHECK(browse_is_term("function=main"));
	CHECK(browse_is_term("function!=main"));
	CHECK(browse_is_term("colour=red"));
	CHECK(!browse_is_term("main"));
	CHECK(!browse_is_term("operator=="));
	CHECK(!browse_is_term("=main"));
	CHECK(!browse_is_term("List<T>=x"));
	CHECK(!browse_is_term(""));
}
