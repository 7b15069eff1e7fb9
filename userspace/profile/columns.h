/* SPDX-License-Identifier: BSD-2-Clause */
/* columns.h: collections that are stored by the batch, column by column. */
/*
 * A program that collects thousands of times a second tells much the same each
 * time: as differences to what is to be expected most columns are empty.
 */
#ifndef GCPROF_COLUMNS_H
#define GCPROF_COLUMNS_H

#include "cursor.h"
#include "record.h"

/* One collection: what its gc_begin and gc_end say. */
struct collection {
#define COLUMN(name, source, records, guess) uint64_t name;
#include "columns.def"
};

enum {
#define COLUMN(name, source, records, guess) COLUMN_##name,
#include "columns.def"
	COLUMNS,
	COLUMNS_BATCH_MAX = 64, /* collections in a record */
	COLUMNS_BYTES_MAX = COLUMNS * (COLUMNS_BATCH_MAX + 1) * VARINT_MAX,
};

/* Packs `count` collections, the first of which begins at `begin`: the bytes written. */
size_t columns_pack(const struct collection *collections, size_t count, uint64_t begin,
		    uint8_t out[COLUMNS_BYTES_MAX]);

/* The other way. -EBADMSG if these are not the columns of so many collections. */
int columns_unpack(struct bytes columns, size_t count, uint64_t begin, struct collection *out);

#endif
