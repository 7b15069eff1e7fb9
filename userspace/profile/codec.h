/* SPDX-License-Identifier: BSD-2-Clause */
/* codec.h: records to bytes and back, by the tables of records.def. */
#ifndef GCPROF_CODEC_H
#define GCPROF_CODEC_H

#include "cursor.h"
#include "record.h"
#include "../util/buffer.h"

#define CODEC_FIELDS_MAX 32        /* fields in one record */
#define CODEC_BYTES_MAX  (1 << 20) /* bytes in one BYTES field, as far as a writer makes them */

/* What fields that are stored as differences refer to. Reset at the start of a chunk. */
struct codec {
	uint64_t time;                                     /* last TIME of any record */
	uint64_t previous[RECORD_CODES][CODEC_FIELDS_MAX]; /* last values of DELTA fields */
};

void codec_reset(struct codec *codec, uint64_t time);

/*
 * Appends a whole record: code, length, fields. -EINVAL for a kind that does not
 * exist, -EMSGSIZE for more than CODEC_BYTES_MAX, -ENOMEM: nothing was appended
 * and the codec is as it was.
 */
int codec_encode(struct codec *codec, const struct record *record, struct buffer *out);

/*
 * Fills `record` from the fields in `payload`. Fields that are missing at the end
 * are 0, what follows the known ones is ignored. -EBADMSG if a field is
 * malformed. BYTES point into the payload.
 */
int codec_decode(struct codec *codec, unsigned code, struct cursor payload, struct record *record);

/* A record by itself, in place of what `out` had; and back. The codec is of no use for others then.
 */
int codec_pack(struct codec *codec, const struct record *record, struct buffer *out);
int codec_unpack(struct codec *codec, const void *data, size_t size, struct record *record);

#endif
