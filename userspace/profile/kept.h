/* SPDX-License-Identifier: BSD-2-Clause */
/* kept.h: keeps the last part of a recording and writes it as a profile. */
/*
 * The recording is written to a series of unnamed files, each of them one segment or several. The
 * oldest are dropped, so the kept data is bounded for recordings of any length. Not thread-safe.
 */
#ifndef GCPROF_KEPT_H
#define GCPROF_KEPT_H

#include <stdbool.h>

#include "record.h"
#include "sink.h"
#include "writer.h"

struct kept;

/* Keeps the last `ns`, and at most `bytes` on disk; 0: no such limit. -ENOMEM. */
int kept_create(uint64_t ns, uint64_t bytes, struct kept **out);
void kept_free(struct kept *kept); /* NULL is allowed */

/* Creates the writer, with the first segment at this time. Negative errno. */
int kept_open(struct kept *kept, uint64_t time, struct profile_writer **out);

/* Begins a segment at this time, in another file, and drops what is beyond the limits. Negative
 * errno. */
int kept_turn(struct kept *kept, struct profile_writer *writer, uint64_t time);

/* The length of a file, chosen so that dropping one keeps within the limits; `bytes` 0: any. */
uint64_t kept_segment_ns(const struct kept *kept);
uint64_t kept_segment_bytes(const struct kept *kept);

/* Start of the kept part; 0: nothing is kept. */
uint64_t kept_since(const struct kept *kept);

/*
 * Writes the kept part of the recording of `writer` as a profile with this number. It ends with the
 * `count` records in `last`, whose final one gives the end time: what begins then or later is left
 * out. With none, the last segment has its own end. May be called in a child that exits. Takes over
 * the sink, even on failure.
 */
int kept_write(const struct kept *kept, struct profile_writer *writer, uint64_t number,
	       const struct record *last, size_t count, struct sink *sink);

#endif
