/* SPDX-License-Identifier: BSD-2-Clause */
/* cursor.h: reads and writes varints; the only code that parses bytes of a profile. */
/*
 * A varint holds seven bits per byte, least significant first; the top bit says that another byte
 * follows. 64 bits take at most ten bytes, of which the tenth is 0 or 1. Signed numbers are
 * zigzag-coded, so that small negative ones stay short.
 */
#ifndef GCPROF_CURSOR_H
#define GCPROF_CURSOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define VARINT_MAX 10 /* bytes */

/* The bytes left to read. Nothing is read at or beyond `end`. */
struct cursor {
	const uint8_t *at;
	const uint8_t *end;
};

static inline struct cursor cursor_make(const void *data, size_t size)
{
	const uint8_t *at = data;

	return (struct cursor){at, at ? at + size : at};
}

static inline size_t cursor_left(const struct cursor *cursor)
{
	return (size_t)(cursor->end - cursor->at);
}

/* False if the bytes end inside the number or it has more than 64 bits. */
static inline bool cursor_varint(struct cursor *cursor, uint64_t *out)
{
	const uint8_t *at = cursor->at;
	uint64_t value = 0;

	if (at < cursor->end && *at < 0x80) {
		*out = *at;
		cursor->at = at + 1;
		return true;
	}
	for (unsigned shift = 0; at < cursor->end && shift < 70; shift += 7) {
		uint8_t byte = *at++;

		if (shift == 63 && byte > 1)
			return false;
		value |= (uint64_t)(byte & 0x7f) << shift;
		if (byte < 0x80) {
			*out = value;
			cursor->at = at;
			return true;
		}
	}
	return false;
}

/* Returns the next `size` bytes in place; false if there are fewer. */
static inline bool cursor_take(struct cursor *cursor, uint64_t size, const uint8_t **out)
{
	if (size > cursor_left(cursor))
		return false;
	*out = cursor->at;
	cursor->at += size;
	return true;
}

/* Writes at most VARINT_MAX bytes to `at` and returns what follows them. */
static inline uint8_t *varint_put(uint8_t *at, uint64_t value)
{
	for (; value >= 0x80; value >>= 7)
		*at++ = (uint8_t)(value | 0x80);
	*at++ = (uint8_t)value;
	return at;
}

static inline uint64_t zigzag_fold(uint64_t value)
{
	return value << 1 ^ (value >> 63 ? UINT64_MAX : 0);
}

static inline uint64_t zigzag_unfold(uint64_t value)
{
	return value >> 1 ^ (value & 1 ? UINT64_MAX : 0);
}

#endif
