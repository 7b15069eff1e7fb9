/* SPDX-License-Identifier: BSD-2-Clause */
/* reader.h: hands back the records of a profile, whole or torn. */
/*
 * Input is not trusted: whatever the bytes are, the reader returns records that
 * are well-formed, or stops. A profile that was cut off (the recorder was
 * killed, the disk was full) is read up to its last whole chunk.
 */
#ifndef GCPROF_READER_H
#define GCPROF_READER_H

#include "record.h"
#include "source.h"

struct profile_reader;

/*
 * Takes over the source, also when it fails. Reads and checks the header:
 * -ENODATA for a file that is empty or ends within the header, -EBADMSG for some
 * other file, -EPROTO for a newer version of the format.
 */
int profile_reader_open(struct source *source, struct profile_reader **out);

/*
 * The next record that records.def knows, the header included: 1 and *record,
 * whose BYTES stay valid until the next call; 0 at the end, be it good or torn;
 * negative errno if the source failed.
 */
int profile_reader_next(struct profile_reader *reader, struct record *record);

enum profile_state {
	PROFILE_COMPLETE,   /* the end record was read */
	PROFILE_UNFINISHED, /* it stops at a chunk boundary without an end record */
	PROFILE_TORN,       /* the last chunk is cut off */
	PROFILE_DAMAGED,    /* a chunk fails its checksum or makes no sense */
	PROFILE_LARGE,      /* what follows would take more memory than is allowed */
};

struct profile_status {
	enum profile_state state; /* meaningful once next returned 0 */
	uint64_t version;         /* of the format */
	uint64_t chunks;          /* read whole */
	uint64_t bytes;           /* of the file, up to the end of the last whole chunk */
	uint64_t plain_bytes;     /* the same, decompressed */
	uint64_t records;
	uint64_t unknown; /* records skipped because their code is not known */
};

void profile_reader_status(const struct profile_reader *reader, struct profile_status *out);

/* NULL is allowed. */
void profile_reader_close(struct profile_reader *reader);

#endif
