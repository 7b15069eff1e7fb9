// SPDX-License-Identifier: BSD-2-Clause
/* escape.c: escapes untrusted text for terminals, messages and JSON. */
#include "escape.h"

#include <stdlib.h>
#include <string.h>

size_t utf8_decode(const char *text, size_t size, uint32_t *character)
{
	static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
	const unsigned char *byte = (const unsigned char *)text;
	size_t length;

	if (!size)
		return 0;
	if (byte[0] < 0x80) {
		*character = byte[0];
		return 1;
	}
	length = byte[0] >= 0xf0 ? 4 : byte[0] >= 0xe0 ? 3 : 2;
	if (byte[0] < 0xc2 || byte[0] > 0xf4 || length > size)
		return 0;
	*character = byte[0] & (0xff >> (length + 1));
	for (size_t i = 1; i < length; i++) {
		if ((byte[i] & 0xc0) != 0x80)
			return 0;
		*character = *character << 6 | (byte[i] & 0x3f);
	}
	if (*character < least[length] || *character > 0x10ffff ||
	    (*character >= 0xd800 && *character < 0xe000))
		return 0;
	return length;
}

/* C0, DEL and C1. */
static bool is_control(uint32_t character)
{
	return character < 0x20 || (character >= 0x7f && character < 0xa0);
}

/* Control characters, and characters that are invisible, end a line or change text direction. */
bool escape_needed(uint32_t character)
{
	static const struct {
		uint32_t first, last;
	} ranges[] = {
		{0x00ad, 0x00ad}, {0x061c, 0x061c}, {0x180e, 0x180e},   {0x200b, 0x200f},
		{0x2028, 0x202e}, {0x2060, 0x206f}, {0xfe00, 0xfe0f},   {0xfeff, 0xfeff},
		{0xfff9, 0xfffb}, {0xe000, 0xf8ff}, {0xe0000, 0xe0fff},
	};

	if (is_control(character))
		return true;
	for (size_t i = 0; i < sizeof(ranges) / sizeof(*ranges); i++)
		if (character >= ranges[i].first && character <= ranges[i].last)
			return true;
	return false;
}

static void escape_copy(const char *text, size_t length, char out[ESCAPE_MAX])
{
	memcpy(out, text, length);
	out[length] = 0;
}

/* Not by snprintf(), for speed: a forged file may have many of them. */
static void put_byte(uint32_t byte, char out[ESCAPE_MAX])
{
	static const char digits[] = "0123456789abcdef";
	const char shown[] = {'\\', 'x', digits[byte >> 4 & 15], digits[byte & 15], 0};

	memcpy(out, shown, sizeof(shown));
}

size_t escape_character(const char *text, size_t size, char out[ESCAPE_MAX])
{
	uint32_t character = 0;
	size_t length = utf8_decode(text, size, &character);

	if (!length)
		put_byte((unsigned char)*text, out);
	else if (is_control(character))
		put_byte(character, out);
	else if (escape_needed(character))
		snprintf(out, ESCAPE_MAX, "\\u{%04x}", (unsigned)character);
	else
		escape_copy(text, length, out);
	return length ? length : 1;
}

size_t escape_json(const char *text, size_t size, char out[ESCAPE_MAX])
{
	uint32_t character = 0;
	size_t length = utf8_decode(text, size, &character);

	if (!length)
		strcpy(out, "\xef\xbf\xbd");
	else if (character == '"' || character == '\\')
		snprintf(out, ESCAPE_MAX, "\\%c", (int)character);
	else if (character == '\n' || character == '\t')
		strcpy(out, character == '\n' ? "\\n" : "\\t");
	else if (!escape_needed(character))
		escape_copy(text, length, out);
	else if (character < 0x10000)
		snprintf(out, ESCAPE_MAX, "\\u%04x", (unsigned)character);
	else
		snprintf(out, ESCAPE_MAX, "\\u%04x\\u%04x",
			 (unsigned)(0xd800 + ((character - 0x10000) >> 10)),
			 (unsigned)(0xdc00 + (character & 0x3ff)));
	return length ? length : 1;
}

void escape_print(FILE *out, const char *text, size_t size)
{
	char shown[ESCAPE_MAX];

	for (size_t at = 0; at < size;) {
		at += escape_character(text + at, size - at, shown);
		fputs(shown, out);
	}
}

/* Formats with `newline` in place of each newline of the format. */
static char *format_with(const char *format, char newline, va_list arguments)
{
	char *marked = strdup(format), *text = NULL;

	if (!marked)
		return NULL;
	for (char *at = marked; (at = strchr(at, '\n'));)
		*at = newline;
		/* The format is the caller's, apart from its newlines. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
	if (vasprintf(&text, marked, arguments) < 0)
		text = NULL;
#pragma GCC diagnostic pop
	free(marked);
	return text;
}

/* Where the two texts differ, the format has a newline: everything else is escaped. */
static char *escape_all(const char *text, const char *other)
{
	size_t size = strlen(text), used = 0;
	char *shown = size < SIZE_MAX / ESCAPE_MAX - 1 ? malloc(size * ESCAPE_MAX + 1) : NULL;

	if (!shown)
		return NULL;
	for (size_t at = 0; at < size;) {
		if (text[at] != other[at]) {
			shown[used++] = '\n';
			at++;
			continue;
		}
		at += escape_character(text + at, size - at, shown + used);
		used += strlen(shown + used);
	}
	shown[used] = 0;
	return shown;
}

char *escape_format(const char *format, va_list arguments)
{
	char *text, *other, *shown = NULL;
	va_list again;

	va_copy(again, arguments);
	text = format_with(format, '\1', arguments);
	other = format_with(format, '\2', again);
	va_end(again);
	if (text && other && strlen(text) == strlen(other))
		shown = escape_all(text, other);
	free(text);
	free(other);
	return shown;
}
