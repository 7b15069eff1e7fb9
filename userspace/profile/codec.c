// SPDX-License-Identifier: BSD-2-Clause
/* codec.c: records to bytes and back, by the tables of records.def. */
#include <errno.h>
#include <string.h>

#include "codec.h"

/* Every record has room for its deltas. */
#define RECORD(code_, name_, doc_) enum { COUNT_##name_ = 0
#define UINT(in_, name_, doc_)     +1
#define INT(in_, name_, doc_)      +1
#define TIME(in_, name_, doc_)     +1
#define DELTA(in_, name_, doc_)    +1
#define BACK(in_, name_, doc_)     +1
#define BYTES(in_, name_, doc_)    +1
#define END_RECORD(name_) \
	}                 \
	;                 \
	_Static_assert((int)COUNT_##name_ <= CODEC_FIELDS_MAX, "raise CODEC_FIELDS_MAX");
#include "records.def"

void codec_reset(struct codec *codec, uint64_t time)
{
	memset(codec, 0, sizeof(*codec));
	codec->time = time;
}

static uint64_t get_number(const struct record *record, const struct field_info *field)
{
	uint64_t value;

	memcpy(&value, (const char *)record + field->offset, sizeof(value));
	return value;
}

static struct bytes get_bytes(const struct record *record, const struct field_info *field)
{
	struct bytes bytes;

	memcpy(&bytes, (const char *)record + field->offset, sizeof(bytes));
	return bytes;
}

/* Readers treat a missing number as 0 and missing bytes as empty, so these can be omitted at the
 * end. The other fields are differences and must be present. */
static bool is_implied(const struct record *record, const struct field_info *field)
{
	switch (field->kind) {
	case FIELD_UINT:
	case FIELD_INT:
		return get_number(record, field) == 0;
	case FIELD_BYTES:
		return get_bytes(record, field).size == 0;
	default:
		return false;
	}
}

/* Number of fields to write, and an upper bound for their size. */
static int measure(const struct record *record, const struct record_info *info, size_t *n,
		   size_t *room)
{
	*n = info->n_fields;
	while (*n && is_implied(record, &info->fields[*n - 1]))
		--*n;
	*room = 2 * VARINT_MAX;
	for (size_t i = 0; i < *n; i++) {
		*room += VARINT_MAX;
		if (info->fields[i].kind == FIELD_BYTES) {
			size_t size = get_bytes(record, &info->fields[i]).size;

			if (size > CODEC_BYTES_MAX)
				return -EMSGSIZE;
			*room += size;
		}
	}
	return 0;
}

static uint8_t *encode_field(struct codec *codec, const struct record *record,
			     const struct field_info *fields, size_t i, uint8_t *at)
{
	const struct field_info *field = &fields[i];
	uint64_t *previous = &codec->previous[record->kind][i];
	struct bytes bytes;
	uint64_t value;

	if (field->kind == FIELD_BYTES) {
		bytes = get_bytes(record, field);
		at = varint_put(at, bytes.size);
		if (bytes.size)
			memcpy(at, bytes.data, bytes.size);
		return at + bytes.size;
	}
	value = get_number(record, field);
	if (field->kind == FIELD_UINT)
		return varint_put(at, value);
	if (field->kind == FIELD_INT)
		return varint_put(at, zigzag_fold(value));
	if (field->kind == FIELD_BACK)
		return varint_put(at, get_number(record, &fields[0]) - value);
	if (field->kind == FIELD_TIME)
		previous = &codec->time;
	at = varint_put(at, zigzag_fold(value - *previous));
	*previous = value;
	return at;
}

int codec_encode(struct codec *codec, const struct record *record, struct buffer *out)
{
	const struct record_info *info = record_info(record->kind);
	size_t n, room, size;
	uint8_t *start, *payload, *at;
	int err;

	if (!info)
		return -EINVAL;
	err = measure(record, info, &n, &room);
	if (!err)
		err = buffer_reserve(out, room);
	if (err)
		return err;
	start = (uint8_t *)out->data + out->size;
	/* Most payloads are short: leave one byte for the length, move the others. */
	payload = varint_put(start, record->kind) + 1;
	at = payload;
	for (size_t i = 0; i < n; i++)
		at = encode_field(codec, record, info->fields, i, at);
	size = (size_t)(at - payload);
	if (size < 0x80) {
		payload[-1] = (uint8_t)size;
	} else {
		uint8_t length[VARINT_MAX];
		size_t extra = (size_t)(varint_put(length, size) - length) - 1;

		memmove(payload + extra, payload, size);
		memcpy(payload - 1, length, extra + 1);
		at += extra;
	}
	out->size += (size_t)(at - start);
	return 0;
}

/* The value of a number field as it is stored, made absolute. */
static uint64_t resolve(struct codec *codec, const struct record *record,
			const struct field_info *fields, size_t i, uint64_t raw)
{
	switch (fields[i].kind) {
	case FIELD_INT:
		return zigzag_unfold(raw);
	case FIELD_TIME:
		return codec->time += zigzag_unfold(raw);
	case FIELD_DELTA:
		return codec->previous[record->kind][i] += zigzag_unfold(raw);
	case FIELD_BACK:
		return get_number(record, &fields[0]) - raw;
	default:
		return raw;
	}
}

int codec_decode(struct codec *codec, unsigned code, struct cursor payload, struct record *record)
{
	const struct record_info *info = record_info(code);

	if (!info)
		return -EINVAL;
	record->kind = code;
	for (size_t i = 0; i < info->n_fields; i++) {
		const struct field_info *field = &info->fields[i];
		char *to = (char *)record + field->offset;
		bool there = payload.at < payload.end;
		uint64_t value = 0;

		if (there && !cursor_varint(&payload, &value))
			return -EBADMSG;
		if (field->kind == FIELD_BYTES) {
			const uint8_t *data = payload.at;

			if (!cursor_take(&payload, value, &data))
				return -EBADMSG;
			*(struct bytes *)(void *)to = (struct bytes){(const char *)data, value};
		} else {
			*(uint64_t *)(void *)to =
				there ? resolve(codec, record, info->fields, i, value) : 0;
		}
	}
	return 0;
}

static void begin_alone(struct codec *codec, unsigned code)
{
	memset(codec->previous[code], 0, sizeof(codec->previous[0]));
	codec->time = 0;
}

int codec_pack(struct codec *codec, const struct record *record, struct buffer *out)
{
	begin_alone(codec, record->kind);
	out->size = 0;
	return codec_encode(codec, record, out);
}

int codec_next(struct codec *codec, struct cursor *records, struct record *record)
{
	uint64_t code, length;
	const uint8_t *data;

	if (!cursor_varint(records, &code) || !cursor_varint(records, &length) ||
	    !cursor_take(records, length, &data) || !code || code >= RECORD_CODES)
		return -EBADMSG;
	return codec_decode(codec, (unsigned)code, cursor_make(data, length), record) ? -EBADMSG
										      : 0;
}

int codec_unpack(struct codec *codec, const void *data, size_t size, struct record *record)
{
	struct cursor cursor = cursor_make(data, size);
	const unsigned code = size ? *cursor.at : 0;

	if (code >= RECORD_CODES)
		return -EBADMSG;
	begin_alone(codec, code);
	return codec_next(codec, &cursor, record);
}
