/* SPDX-License-Identifier: BSD-2-Clause */
/* codec.h: encodes and decodes records by the tables of records.def. */
#ifndef GCPROF_CODEC_H
#define GCPROF_CODEC_H

#include "cursor.h"
#include "record.h"
#include "../util/buffer.h"

#define CODEC_FIELDS_MAX 32        /* fields in one record */
#define CODEC_BYTES_MAX  (1 << 20) /* bytes in one BYTES field; limits writers only */

/* The bases of difference-coded fields. Reset at the start of a chunk. */
struct codec {
	uint64_t time;                                     /* last TIME of any record */
	uint64_t previous[RECORD_CODES][CODEC_FIELDS_MAX]; /* last values of DELTA fields */
};

/* Begins a chunk. */
void codec_reset(struct codec *codec, uint64_t time);

/*
 * Appends a complete record: code, length, fields. -EINVAL for an unknown kind, -EMSGSIZE for more
 * than CODEC_BYTES_MAX, -ENOMEM. On error nothing is appended and the codec is unchanged.
 */
int codec_encode(struct codec *codec, const struct record *record, struct buffer *out);

/*
 * Fills `record` from the fields in `payload`. Missing trailing fields are 0; bytes after the known
 * fields are ignored. -EBADMSG if a field is malformed. BYTES point into the payload.
 */
int codec_decode(struct codec *codec, unsigned code, struct cursor payload, struct record *record);

/* Decodes the next record behind its code and length. -EBADMSG, also for an unknown code. */
int codec_next(struct codec *codec, struct cursor *records, struct record *record);

/* A record by itself, in place of what `out` had; and back. The codec is of no use for others then.
 */
int codec_pack(struct codec *codec, const struct record *record, struct buffer *out);
int codec_unpack(struct codec *codec, const void *data, size_t size, struct record *record);

#endif
