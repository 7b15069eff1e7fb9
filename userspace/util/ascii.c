// SPDX-License-Identifier: BSD-2-Clause
/* ascii.c: text for people whose locale is not UTF-8. */
#include "ascii.h"

#include <stdlib.h>
#include <string.h>

bool ascii_only(void)
{
	static const char *const variables[] = {"LC_ALL", "LC_CTYPE", "LANG"};
	static int known; /* 1: UTF-8, 2: only ASCII */
	const char *value = NULL;

	for (size_t i = 0; !known && i < 3 && !(value && *value); i++)
		value = getenv(variables[i]);
	if (!known)
		known = value && (strcasestr(value, "utf-8") || strcasestr(value, "utf8")) ? 1 : 2;
	return known == 2;
}

size_t ascii_character(uint32_t character, char out[ESCAPE_MAX])
{
	static const struct {
		uint32_t character;
		const char *text;
	} known[] = {
		{0x00b1, "+-"}, {0x00b5, "u"}, {0x00b7, "."}, {0x00d7, "x"},  {0x2013, "-"},
		{0x2018, "'"},  {0x2019, "'"}, {0x2026, "~"}, {0x2581, "_"},  {0x2582, ","},
		{0x2583, "-"},  {0x2584, "="}, {0x2585, "+"}, {0x2586, "*"},  {0x2587, "%"},
		{0x2588, "#"},  {0x2589, "#"}, {0x258a, "#"}, {0x258b, "#"},  {0x258c, "="},
		{0x258d, "="},  {0x258e, "-"}, {0x258f, "-"}, {0x2265, ">="},
	};

	if (character < 0x80)
		return (size_t)snprintf(out, ESCAPE_MAX, "%c", (char)character);
	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
		if (known[i].character == character)
			return (size_t)snprintf(out, ESCAPE_MAX, "%s", known[i].text);
	return (size_t)snprintf(out, ESCAPE_MAX, "\\u{%x}", (unsigned)character);
}

/* Writes a text; returns how much of it: all but the begin of a character at its end. */
static size_t write_text(FILE *out, const char *text, size_t size)
{
	size_t at = 0;

	while (at < size) {
		char ascii[ESCAPE_MAX] = "";
		uint32_t character = 0;
		size_t length = utf8_decode(text + at, size - at, &character);

		if (!length && size - at < 4 && ((unsigned char)text[at] & 0xc0) == 0xc0)
			break;
		/* Bytes that are no character were escaped before. */
		fwrite(ascii, 1, ascii_character(length ? character : '?', ascii), out);
		at += length ? length : 1;
	}
	return at;
}

char *ascii_text(const char *text)
{
	char *copy = NULL;
	size_t size;
	FILE *out = open_memstream(&copy, &size);

	if (!out)
		return NULL;
	write_text(out, text, strlen(text));
	if (!fclose(out))
		return copy;
	free(copy);
	return NULL;
}

/* --- standard output ------------------------------------------------------------------------ */

static struct {
	FILE *out;
	char rest[8]; /* the begin of a character */
	size_t n_rest;
} plain;

static ssize_t write_plain(void *cookie, const char *text, size_t size)
{
	size_t done = 0, n;

	(void)cookie;
	while (plain.n_rest && plain.n_rest < sizeof(plain.rest) && done < size) {
		plain.rest[plain.n_rest++] = text[done++];
		n = write_text(plain.out, plain.rest, plain.n_rest);
		plain.n_rest = n ? 0 : plain.n_rest;
	}
	done += write_text(plain.out, text + done, size - done);
	for (; done < size && plain.n_rest < sizeof(plain.rest); done++)
		plain.rest[plain.n_rest++] = text[done];
	return ferror(plain.out) || fflush(plain.out) ? -1 : (ssize_t)size;
}

void ascii_stdout(void)
{
	const cookie_io_functions_t functions = {.write = write_plain};
	FILE *out;

	if (!ascii_only() || plain.out)
		return;
	fflush(stdout);
	out = fopencookie(NULL, "w", functions);
	if (!out)
		return;
	plain.out = stdout;
	stdout = out;
}
