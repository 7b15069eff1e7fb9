/* SPDX-License-Identifier: BSD-2-Clause */
/* text.c: makes printable UTF-8 of bytes from anywhere, and measures it. */
#include "text.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "arena.h"

struct range {
	uint32_t first, last;
};

static bool in_ranges(uint32_t character, const struct range *ranges, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (character >= ranges[i].first && character <= ranges[i].last)
			return true;
	return false;
}

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

/* Invisible, or turns the direction of what follows. */
static bool is_deceptive(uint32_t character)
{
	static const struct range ranges[] = {
		{0x00ad, 0x00ad}, {0x061c, 0x061c}, {0x180e, 0x180e},   {0x200b, 0x200f},
		{0x2028, 0x202e}, {0x2060, 0x206f}, {0xfe00, 0xfe0f},   {0xfeff, 0xfeff},
		{0xfff9, 0xfffb}, {0xe000, 0xf8ff}, {0xe0000, 0xe0fff},
	};

	return in_ranges(character, ranges, sizeof(ranges) / sizeof(*ranges));
}

/* Writes one character, or its escape, into out[16]; returns how many bytes were consumed. */
static size_t clean_one(const char *text, size_t size, char *out)
{
	uint32_t character = 0;
	size_t length = utf8_decode(text, size, &character);

	if (!length || character < 0x20 || (character >= 0x7f && character < 0xa0)) {
		snprintf(out, 16, "\\x%02x",
			 length ? (unsigned)character : (unsigned)(unsigned char)*text);
		return length ? length : 1;
	}
	if (is_deceptive(character)) {
		snprintf(out, 16, "\\u{%04x}", (unsigned)character);
		return length;
	}
	memcpy(out, text, length);
	out[length] = 0;
	return length;
}

static bool is_blank(char c)
{
	return c == ' ' || (c >= '\t' && c <= '\r');
}

/* How many blanks and line ends follow each other from `at` on. */
static size_t blanks_at(struct bytes bytes, size_t at)
{
	size_t end = at;

	while (end < bytes.size && is_blank(bytes.data[end]))
		end++;
	return end - at;
}

static const char *clean(struct arena *arena, struct bytes bytes, bool one_line)
{
	char buffer[NAME_SIZE_MAX + 16];
	size_t used = 0, blanks;
	char *copy;

	for (size_t at = 0; at < bytes.size && used < NAME_SIZE_MAX;) {
		blanks = one_line ? blanks_at(bytes, at) : 0;
		at += blanks;
		if (blanks && used && at < bytes.size)
			buffer[used++] = ' ';
		if (blanks)
			continue;
		at += clean_one(bytes.data + at, bytes.size - at, buffer + used);
		used += strlen(buffer + used);
	}
	copy = arena_alloc(arena, used + 1);
	if (!copy)
		return NULL;
	memcpy(copy, buffer, used);
	copy[used] = 0;
	return copy;
}

const char *name_clean(struct arena *arena, struct bytes bytes)
{
	return clean(arena, bytes, false);
}

const char *line_clean(struct arena *arena, struct bytes bytes)
{
	return clean(arena, bytes, true);
}

int character_width(uint32_t character)
{
	static const struct range combining[] = {
		{0x0300, 0x036f}, {0x0483, 0x0489}, {0x0591, 0x05bd},
		{0x0610, 0x061a}, {0x064b, 0x065f}, {0x1ab0, 0x1aff},
		{0x1dc0, 0x1dff}, {0x20d0, 0x20ff}, {0xfe20, 0xfe2f},
	};
	static const struct range wide[] = {
		{0x1100, 0x115f},   {0x2e80, 0x303e},   {0x3041, 0xa4cf},   {0xa960, 0xa97c},
		{0xac00, 0xd7a3},   {0xf900, 0xfaff},   {0xfe30, 0xfe6f},   {0xff00, 0xff60},
		{0xffe0, 0xffe6},   {0x1f300, 0x1f64f}, {0x1f680, 0x1f6ff}, {0x1f900, 0x1f9ff},
		{0x20000, 0x3fffd},
	};

	if (character < 0x300)
		return 1;
	if (in_ranges(character, combining, sizeof(combining) / sizeof(*combining)))
		return 0;
	return in_ranges(character, wide, sizeof(wide) / sizeof(*wide)) ? 2 : 1;
}
