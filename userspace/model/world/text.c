/* SPDX-License-Identifier: BSD-2-Clause */
/* text.c: makes printable UTF-8 from untrusted bytes, and measures its width. */
#include "text.h"

#include <stdbool.h>
#include <string.h>

#include "../../util/ascii.h"
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

static bool is_blank(char c)
{
	return c == ' ' || (c >= '\t' && c <= '\r');
}

/* Length of the whitespace run at `at`. */
static size_t blanks_at(struct bytes bytes, size_t at)
{
	size_t end = at;

	while (end < bytes.size && is_blank(bytes.data[end]))
		end++;
	return end - at;
}

static const char *clean(struct arena *arena, struct bytes bytes, bool one_line)
{
	char buffer[NAME_SIZE_MAX + ESCAPE_MAX];
	size_t used = 0, blanks;
	char *copy;

	for (size_t at = 0; at < bytes.size && used < NAME_SIZE_MAX;) {
		blanks = one_line ? blanks_at(bytes, at) : 0;
		at += blanks;
		if (blanks && used && at < bytes.size)
			buffer[used++] = ' ';
		if (blanks)
			continue;
		at += escape_character(bytes.data + at, bytes.size - at, buffer + used);
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

	if (character >= 0x80 && ascii_only()) {
		char ascii[ESCAPE_MAX];

		return (int)ascii_character(character, ascii);
	}
	if (character < 0x300)
		return 1;
	if (in_ranges(character, combining, sizeof(combining) / sizeof(*combining)))
		return 0;
	return in_ranges(character, wide, sizeof(wide) / sizeof(*wide)) ? 2 : 1;
}
