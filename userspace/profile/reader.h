/* SPDX-License-Identifier: BSD-2-Clause */
/* reader.h: returns the records of a profile, complete or torn. */
/*
 * Input is not trusted: for any input the reader returns well-formed records or stops. A profile
 * that was cut off (the recorder was killed, the disk was full) is read up to its last complete
 * chunk.
 */
#ifndef GCPROF_READER_H
#define GCPROF_READER_H

#include "record.h"
#include "source.h"

struct profile_reader;

/*
 * Takes over the source, even on failure. Reads and checks the header: -ENODATA for a file that is
 * empty or ends within the header, -EBADMSG for a file of another kind, -EPROTO for another version
 * of the format, which profile_reader_refusal() returns.
 */
int profile_reader_open(struct source *source, struct profile_reader **out);

/* What was refused with -EPROTO. */
struct profile_refusal {
	uint64_t format;
	char writer[64]; /* the program and its version, untrusted; "": not known */
};

/* The last refusal in this thread. */
const struct profile_refusal *profile_reader_refusal(void);

/* From now on records are returned as they are stored: `again` records, which are skipped or
 * replaced by what they repeat otherwise, and ids of the recordings (chain.h). */
void profile_reader_raw(struct profile_reader *reader);

/*
 * Returns the next record known to records.def, including the header: 1 and *record, whose BYTES
 * stay valid until the next call. 0 at the end, whether complete or torn; negative errno if the
 * source failed.
 */
int profile_reader_next(struct profile_reader *reader, struct record *record);

enum profile_state {
	PROFILE_COMPLETE,   /* the end record was read */
	PROFILE_UNFINISHED, /* ends at a chunk boundary without an end record */
	PROFILE_TORN,       /* the last chunk is cut off */
	PROFILE_DAMAGED,    /* a chunk fails its checksum or is malformed */
	PROFILE_LARGE,      /* the rest would exceed the memory limit */
};

struct profile_status {
	enum profile_state state; /* meaningful once next returned 0 */
	uint64_t version;         /* of the format */
	uint64_t chunks;          /* complete ones */
	uint64_t bytes;           /* of the file, up to the end of the last complete chunk */
	uint64_t plain_bytes;     /* the same, decompressed */
	uint64_t records;
	uint64_t unknown; /* records skipped because of an unknown code */
};

void profile_reader_status(const struct profile_reader *reader, struct profile_status *out);

/* NULL is allowed. */
void profile_reader_close(struct profile_reader *reader);

#endif
