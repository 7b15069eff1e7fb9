// SPDX-License-Identifier: BSD-2-Clause
/* frame_info.c: reads call frame information: common entries (CIEs) and functions (FDEs). */
/*
 * Both sections are lists of entries with a length. An entry is either common to several functions,
 * or describes one function and links to a common one. A malformed entry is skipped by its length.
 * A length beyond the section ends the reading.
 */
#include <errno.h>
#include <string.h>

#include "frame_info.h"

/* Encodings of addresses: the low half is the width, the high half the base. */
enum {
	ENCODING_ABSOLUTE = 0x00,
	ENCODING_ULEB = 0x01,
	ENCODING_U2 = 0x02,
	ENCODING_U4 = 0x03,
	ENCODING_U8 = 0x04,
	ENCODING_SLEB = 0x09,
	ENCODING_S2 = 0x0a,
	ENCODING_S4 = 0x0b,
	ENCODING_S8 = 0x0c,
	ENCODING_RELATIVE = 0x10, /* to the address of the number itself */
	ENCODING_OMITTED = 0xff,
};

#define AUGMENTATION_MAX 16

struct entry {
	size_t offset;      /* of the entry in the section */
	size_t link_offset; /* offset of its link, which tells its kind */
	uint64_t link;
	bool wide; /* 64-bit lengths */
	struct cursor body;
};

bool frame_fixed(struct cursor *cursor, size_t size, uint64_t *out)
{
	const uint8_t *at;
	uint64_t value = 0;

	if (!cursor_take(cursor, size, &at))
		return false;
	memcpy(&value, at, size);
	*out = value;
	return true;
}

bool frame_signed(struct cursor *cursor, int64_t *out)
{
	const uint8_t *at;
	uint64_t value = 0;
	unsigned shift = 0;

	do {
		if (shift > 63 || !cursor_take(cursor, 1, &at))
			return false;
		value |= (uint64_t)(*at & 0x7f) << shift;
		shift += 7;
	} while (*at & 0x80);
	if (shift < 64 && *at & 0x40)
		value |= UINT64_MAX << shift;
	*out = (int64_t)value;
	return true;
}

static uint64_t widen(uint64_t value, unsigned bits)
{
	uint64_t sign = UINT64_C(1) << (bits - 1);

	return (value ^ sign) - sign;
}

static bool read_number(struct cursor *cursor, uint8_t encoding, uint64_t *out)
{
	int64_t value;

	switch (encoding & 0x0f) {
	case ENCODING_ULEB:
		return cursor_varint(cursor, out);
	case ENCODING_SLEB:
		if (!frame_signed(cursor, &value))
			return false;
		*out = (uint64_t)value;
		return true;
	case ENCODING_U2:
		return frame_fixed(cursor, 2, out);
	case ENCODING_U4:
		return frame_fixed(cursor, 4, out);
	case ENCODING_ABSOLUTE:
	case ENCODING_U8:
	case ENCODING_S8:
		return frame_fixed(cursor, 8, out);
	case ENCODING_S2:
		if (!frame_fixed(cursor, 2, out))
			return false;
		*out = widen(*out, 16);
		return true;
	case ENCODING_S4:
		if (!frame_fixed(cursor, 4, out))
			return false;
		*out = widen(*out, 32);
		return true;
	}
	return false;
}

/* Reads an encoded address; bases relative to data or to the function are not supported. */
static bool read_address(const struct frame_section *section, struct cursor *cursor,
			 uint8_t encoding, uint64_t *out)
{
	uint64_t place = section->address + (uint64_t)(cursor->at - section->data);

	if (encoding == ENCODING_OMITTED || !read_number(cursor, encoding, out))
		return false;
	if ((encoding & 0xf0) == ENCODING_RELATIVE)
		*out += place;
	else if (encoding & 0xf0)
		return false;
	return true;
}

/* Reads the entry at `offset` and checks its length: 1; 0 at the end; -1 if malformed. */
static int read_entry(const struct frame_section *section, size_t offset, struct entry *out)
{
	struct cursor cursor;
	uint64_t length;
	const uint8_t *body;

	if (offset > section->size)
		return -1;
	cursor = cursor_make(section->data + offset, section->size - offset);
	out->offset = offset;
	out->wide = false;
	if (!cursor_left(&cursor))
		return 0;
	if (!frame_fixed(&cursor, 4, &length))
		return -1;
	if (!length)
		return 0;
	if (length == 0xffffffff) {
		out->wide = true;
		if (!frame_fixed(&cursor, 8, &length))
			return -1;
	}
	if (!cursor_take(&cursor, length, &body))
		return -1;
	out->body = cursor_make(body, length);
	out->link_offset = (size_t)(body - section->data);
	/* .eh_frame has 4-byte links even with 8-byte lengths. */
	if (!frame_fixed(&out->body, out->wide && section->debug ? 8 : 4, &out->link))
		return -1;
	return 1;
}

static bool is_common(const struct frame_section *section, const struct entry *entry)
{
	if (!section->debug)
		return entry->link == 0;
	return entry->link == (entry->wide ? UINT64_MAX : 0xffffffff);
}

/* Interprets the letters of the augmentation, from 'z' on. */
static bool read_augmentation(const struct frame_section *section, struct cursor cursor,
			      const char *letters, struct frame_common *out)
{
	uint64_t number;
	const uint8_t *at;

	for (; *letters; letters++) {
		switch (*letters) {
		case 'R':
			if (!cursor_take(&cursor, 1, &at))
				return false;
			out->encoding = *at;
			break;
		case 'P':
			/* An indirect one (0x80) is as long as the address that it replaces. */
			if (!cursor_take(&cursor, 1, &at) ||
			    (*at != ENCODING_OMITTED &&
			     !read_address(section, &cursor, *at & 0x1f, &number)))
				return false;
			break;
		case 'L':
			if (!cursor_take(&cursor, 1, &at))
				return false;
			break;
		case 'S':
			out->signal = true;
			break;
		case 'B':
			break;
		default:
			return false;
		}
	}
	return true;
}

static bool read_common(const struct frame_section *section, const struct entry *entry,
			struct frame_common *out)
{
	struct cursor cursor = entry->body;
	uint64_t version, length, number;
	const uint8_t *letters, *data;

	*out = (struct frame_common){.offset = entry->offset};
	if (!frame_fixed(&cursor, 1, &version) || (version != 1 && version != 3 && version != 4))
		return false;
	letters = cursor.at;
	length = strnlen((const char *)letters, cursor_left(&cursor));
	if (length > AUGMENTATION_MAX || !cursor_take(&cursor, length + 1, &data))
		return false;
	if (version == 4 && (!frame_fixed(&cursor, 1, &number) || number != 8 ||
			     !frame_fixed(&cursor, 1, &number) || number != 0))
		return false;
	if (!cursor_varint(&cursor, &out->code_align) || !frame_signed(&cursor, &out->data_align))
		return false;
	if (version == 1 ? !frame_fixed(&cursor, 1, &out->return_register)
			 : !cursor_varint(&cursor, &out->return_register))
		return false;
	if (letters[0] == 'z') {
		out->augmented = true;
		if (!cursor_varint(&cursor, &length) || !cursor_take(&cursor, length, &data) ||
		    !read_augmentation(section, cursor_make(data, length),
				       (const char *)letters + 1, out))
			return false;
	} else if (letters[0]) {
		return false;
	}
	out->program = cursor;
	return true;
}

/* The offset of the common entry that a function's entry links to. */
static bool common_offset(const struct frame_section *section, const struct entry *entry,
			  size_t *out)
{
	if (section->debug)
		*out = entry->link;
	else if (entry->link > entry->link_offset)
		return false;
	else
		*out = entry->link_offset - entry->link;
	return true;
}

static bool read_function(const struct frame_section *section, const struct entry *entry,
			  const struct frame_common *common, struct frame_function *out)
{
	struct cursor cursor = entry->body;
	uint64_t size, length;
	const uint8_t *data;

	out->common = common;
	if (!read_address(section, &cursor, common->encoding, &out->begin) ||
	    !read_number(&cursor, common->encoding & 0x0f, &size) || size > UINT64_MAX - out->begin)
		return false;
	out->end = out->begin + size;
	if (common->augmented &&
	    (!cursor_varint(&cursor, &length) || !cursor_take(&cursor, length, &data)))
		return false;
	out->program = cursor;
	return true;
}

/* Finds the common entry of a function; `common` caches the last one. */
static bool find_common(const struct frame_section *section, const struct entry *entry,
			struct frame_common *common, bool *valid)
{
	struct entry other;
	size_t offset;

	if (!common_offset(section, entry, &offset))
		return false;
	if (*valid && common->offset == offset)
		return true;
	*valid = read_entry(section, offset, &other) > 0 && is_common(section, &other) &&
		 read_common(section, &other, common);
	return *valid;
}

int frame_info_each(const struct frame_section *section, frame_visit *visit, void *context,
		    size_t *refused)
{
	struct frame_common common = {0};
	struct frame_function function;
	struct entry entry;
	bool valid = false;
	size_t offset = 0;
	int err = 0;

	while (!err && read_entry(section, offset, &entry) > 0) {
		offset = (size_t)(entry.body.end - section->data);
		if (is_common(section, &entry))
			continue;
		if (!find_common(section, &entry, &common, &valid) ||
		    !read_function(section, &entry, &common, &function))
			++*refused;
		else if (function.begin < function.end)
			err = visit(context, &function);
	}
	return err;
}
