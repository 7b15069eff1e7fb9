/* SPDX-License-Identifier: BSD-2-Clause */
/* page.c: prints headings and paragraphs within a given width. */
#include "page.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "../model/world/text.h"

enum { PARAGRAPH_WIDTH_MAX = 100 };

int text_width(const char *text)
{
	size_t size = strlen(text), length;
	uint32_t character;
	int width = 0;

	for (size_t at = 0; at < size; at += length) {
		length = utf8_decode(text + at, size - at, &character);
		if (!length)
			return width + (int)(size - at);
		width += character_width(character);
	}
	return width;
}

static const char *style_begin(const struct page *page, enum style style)
{
	static const char *const codes[] = {"", "\033[1m", "\033[2m", "\033[33m"};

	return page->colour ? codes[style] : "";
}

static const char *style_end(const struct page *page, enum style style)
{
	return page->colour && style != STYLE_PLAIN ? "\033[0m" : "";
}

void page_heading(const struct page *page, const char *title)
{
	fputc('\n', page->out);
	page_paragraph(page, STYLE_HEADING, 0, "%s", title);
}

/* Prints at most `room` columns of a word; returns the rest of the word. */
static const char *print_part(FILE *out, const char *word, const char *end, int room)
{
	uint32_t character;

	while (word < end) {
		size_t length = utf8_decode(word, (size_t)(end - word), &character);
		int width = length ? character_width(character) : 1;

		if (width > room)
			break;
		room -= width;
		length = length ? length : 1;
		fwrite(word, 1, length, out);
		word += length;
	}
	return word;
}

static int part_width(const char *word, const char *end)
{
	uint32_t character;
	int width = 0;

	for (size_t length; word < end; word += length) {
		length = utf8_decode(word, (size_t)(end - word), &character);
		width += length ? character_width(character) : 1;
		length = length ? length : 1;
	}
	return width;
}

/* The end of the word at `text`. A number and its unit stay together: "12.3 ms". */
static const char *word_end(const char *text)
{
	const char *end = text + strcspn(text, " ");
	size_t unit = strcspn(end + (*end == ' '), " ,.;)");

	if (*end && end > text && end[-1] >= '0' && end[-1] <= '9' && unit > 0 && unit <= 3)
		end += 1 + strcspn(end + 1, " ");
	return end;
}

/*
 * Prints the words of `text` on lines of at most `width` columns, each indented by `indent`
 * spaces.
 */
static void print_words(FILE *out, int width, int indent, const char *text)
{
	int column = indent;

	fprintf(out, "%*s", indent, "");
	for (text += strspn(text, " "); *text; text += strspn(text, " ")) {
		const char *end = word_end(text);
		int word = part_width(text, end);

		if (column > indent && column + 1 + word > width) {
			fprintf(out, "\n%*s", indent, "");
			column = indent;
		} else if (column > indent) {
			fputc(' ', out);
			column++;
		}
		/* A word longer than a line is broken anywhere. */
		while (column + part_width(text, end) > width) {
			text = print_part(out, text, end, width - column);
			fprintf(out, "\n%*s", indent, "");
			column = indent;
		}
		column += part_width(text, end);
		fwrite(text, 1, (size_t)(end - text), out);
		text = end;
	}
}

void page_paragraph(const struct page *page, enum style style, int indent, const char *format, ...)
{
	int width = page->width, size;
	va_list arguments;
	char *text;

	va_start(arguments, format);
	size = vasprintf(&text, format, arguments);
	va_end(arguments);
	if (size < 0)
		return;
	/* Longer lines are hard to read. */
	if (width > PARAGRAPH_WIDTH_MAX && style != STYLE_HEADING)
		width = PARAGRAPH_WIDTH_MAX;
	fputs(style_begin(page, style), page->out);
	print_words(page->out, width, indent, text);
	fprintf(page->out, "%s\n", style_end(page, style));
	free(text);
}

int page_written(const struct page *page, FILE *stream, char **text)
{
	bool written = fclose(stream) == 0;

	if (written && **text)
		page_paragraph(page, STYLE_PLAIN, 2, "%s", *text);
	free(*text);
	return written ? 0 : -ENOMEM;
}

void page_line(const struct page *page, enum style style, int indent, const char *text)
{
	const char *end = text + strlen(text);
	int room = page->width - indent;
	bool cut = part_width(text, end) > room;

	fprintf(page->out, "%s%*s", style_begin(page, style), indent, "");
	print_part(page->out, text, end, cut ? room - 1 : room);
	fprintf(page->out, "%s%s\n", cut ? "\u2026" : "", style_end(page, style));
}
