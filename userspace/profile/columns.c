// SPDX-License-Identifier: BSD-2-Clause
/* columns.c: collections that are stored by the batch, column by column. */
/*
 * A column is a number n and n differences; those behind, up to the number of
 * collections, are 0. Columns behind the last that is not empty are left out.
 */
#include "columns.h"

#include <errno.h>
#include <string.h>

/* What is stored of a batch. */
struct differences {
	uint64_t of[COLUMNS][COLUMNS_BATCH_MAX];
};

static uint8_t *pack_column(const uint64_t *differences, size_t count, uint8_t *at)
{
	while (count && !differences[count - 1])
		count--;
	at = varint_put(at, count);
	for (size_t i = 0; i < count; i++)
		at = varint_put(at, zigzag_fold(differences[i]));
	return at;
}

size_t columns_pack(const struct collection *collections, size_t count, uint64_t begin,
		    uint8_t out[COLUMNS_BYTES_MAX])
{
	const struct collection none = {.end = begin}, *before = &none;
	struct differences differences = {0};
	uint8_t *at = out;

	for (size_t i = 0; i < count; i++) {
		const struct collection *own = &collections[i];

#define COLUMN(name, source, records, guess) differences.of[COLUMN_##name][i] = own->name - (guess);
#include "columns.def"
		before = own;
	}
	for (int column = 0; column < COLUMNS; column++)
		at = pack_column(differences.of[column], count, at);
	return (size_t)(at - out);
}

static int unpack_column(struct cursor *cursor, size_t count, uint64_t *differences)
{
	uint64_t n = 0;

	/* A newer reader has columns that an older writer did not know. */
	if (cursor_left(cursor) && !cursor_varint(cursor, &n))
		return -EBADMSG;
	if (n > count)
		return -EBADMSG;
	for (size_t i = 0; i < n; i++) {
		if (!cursor_varint(cursor, &differences[i]))
			return -EBADMSG;
		differences[i] = zigzag_unfold(differences[i]);
	}
	memset(differences + n, 0, (count - n) * sizeof(*differences));
	return 0;
}

int columns_unpack(struct bytes columns, size_t count, uint64_t begin, struct collection *out)
{
	const struct collection none = {.end = begin}, *before = &none;
	struct cursor cursor = cursor_make(columns.data, columns.size);
	struct differences differences = {0};
	int err = count > COLUMNS_BATCH_MAX ? -EBADMSG : 0;

	for (int column = 0; column < COLUMNS && !err; column++)
		err = unpack_column(&cursor, count, differences.of[column]);
	if (err)
		return err;
	for (size_t i = 0; i < count; i++) {
		struct collection *own = &out[i];

#define COLUMN(name, source, records, guess) own->name = differences.of[COLUMN_##name][i] + (guess);
#include "columns.def"
		before = own;
	}
	return 0;
}
