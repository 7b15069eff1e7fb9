/* SPDX-License-Identifier: BSD-2-Clause */
/* escape.c: tests of text from anywhere on terminals, in messages and in JSON. */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "test.h"
#include "util/escape.h"

enum { ROUNDS = 200000, BYTES_MAX = 24 };

static uint64_t state = 88172645463325252;

static uint64_t next_random(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state;
}

/* Sequences that matter are rare among random bytes: every other piece is one of them. */
static size_t make_text(char *out)
{
	static const char *const pieces[] = {
		"\x1b[2J",      "\xc2\x9b",         "\xc2\x85",         "\xe2\x80\xa8",
		"\xe2\x80\xae", "\xe2\x81\xa6",     "\xd8\x9c",         "\xf3\xa0\x80\x81",
		"\xef\xbb\xbf", "\xed\xa0\x80",     "\xe2\x80",         "\xc0\x9b",
		"\n",           "\xf0\x9f\x98\x80", "\xf4\x90\x80\x80", "\"\\",
	};
	size_t size = 0, wanted = next_random() % BYTES_MAX;

	while (size < wanted) {
		const char *piece = pieces[next_random() % (sizeof(pieces) / sizeof(*pieces))];

		if (next_random() % 2) {
			memcpy(out + size, piece, strlen(piece));
			size += strlen(piece);
		} else {
			out[size++] = (char)next_random();
		}
	}
	return size;
}

/* Valid UTF-8 without anything that a terminal obeys or that misleads the eye. */
static void check_harmless(const char *text)
{
	size_t size = strlen(text), length;

	for (size_t at = 0; at < size; at += length) {
		uint32_t character = 0;

		length = utf8_decode(text + at, size - at, &character);
		CHECK(length > 0);
		CHECK(character >= 0x20 && (character < 0x7f || character >= 0xa0));
		CHECK(character != 0x61c && character != 0x200e && character != 0x200f);
		CHECK(character < 0x2028 || character > 0x202e);
		CHECK(character < 0x2066 || character > 0x2069);
	}
}

TEST(no_bytes_become_anything_that_a_terminal_obeys)
{
	char text[BYTES_MAX + 8], shown[ESCAPE_MAX];

	for (int i = 0; i < ROUNDS; i++) {
		size_t size = make_text(text);

		for (size_t at = 0; at < size;) {
			size_t length = escape_character(text + at, size - at, shown);

			CHECK(length >= 1 && length <= size - at && strlen(shown) < ESCAPE_MAX);
			check_harmless(shown);
			at += length;
		}
	}
}

/* What the text is once all that is no UTF-8 is U+FFFD. */
static void repair(const char *text, size_t size, char *out)
{
	for (size_t at = 0, length; at < size; at += length ? length : 1) {
		uint32_t character;

		length = utf8_decode(text + at, size - at, &character);
		memcpy(out, length ? text + at : "\xef\xbf\xbd", length ? length : 3);
		out += length ? length : 3;
	}
	*out = 0;
}

TEST(json_is_harmless_and_has_the_same_content)
{
	char text[BYTES_MAX + 8], whole[4 * BYTES_MAX], json[BYTES_MAX * ESCAPE_MAX];

	for (int i = 0; i < ROUNDS; i++) {
		size_t size = make_text(text), used = 1;
		json_t *value;

		for (size_t at = 0; at < size; at++)
			text[at] = text[at] ? text[at] : ' ';
		json[0] = '"';
		for (size_t at = 0; at < size; used += strlen(json + used))
			at += escape_json(text + at, size - at, json + used);
		strcpy(json + used, "\"");
		check_harmless(json);
		repair(text, size, whole);
		value = json_loads(json, JSON_DECODE_ANY, NULL);
		CHECK(value);
		CHECK_STR(json_string_value(value), whole);
		json_decref(value);
	}
}

__attribute__((format(printf, 1, 2))) static char *format(const char *format, ...)
{
	va_list arguments;
	char *text;

	va_start(arguments, format);
	text = escape_format(format, arguments);
	va_end(arguments);
	return text;
}

TEST(messages_have_the_newlines_of_their_format_alone)
{
	char *text = format("%s: %d%%\nTry %.*s.", "a\ngcprof: error: b\r\x1b[31m", 7, 2, "\n\ne");

	CHECK_STR(text, "a\\x0agcprof: error: b\\x0d\\x1b[31m: 7%\nTry \\x0a\\x0a.");
	free(text);
	text = format("%s", "\xe2\x80\xa8\xe2\x80\xae\xc2\x9b\xff\xc3\xa9\n");
	CHECK_STR(text, "\\u{2028}\\u{202e}\\x9b\\xff\xc3\xa9\\x0a");
	free(text);
}
