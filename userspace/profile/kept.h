/* SPDX-License-Identifier: BSD-2-Clause */
/* kept.h: keeps the last part of a recording and writes it as a profile. */
/*
 * The recording is written to a series of segments, unnamed files. When a segment is dropped,
 * definitions that later segments refer to survive (carry.h). The kept data is therefore bounded
 * for recordings of any length.
 */
#ifndef GCPROF_KEPT_H
#define GCPROF_KEPT_H

#include <stdbool.h>

#include "record.h"
#include "sink.h"

struct kept;

/* Keeps the last `ns`, and at most `bytes` on disk; 0: no such limit. -ENOMEM. */
int kept_create(uint64_t ns, uint64_t bytes, struct kept **out);
void kept_free(struct kept *kept); /* NULL is allowed */

/* Starts a segment at this time, after the previous one was written. The writer uses the sink but
 * does not close it. Negative errno. */
int kept_begin(struct kept *kept, uint64_t time, struct sink **sink);

/* The length of a segment, chosen so that dropping one keeps within the limits; `bytes` 0: any. */
uint64_t kept_segment_ns(const struct kept *kept);
uint64_t kept_segment_bytes(const struct kept *kept);

/*
 * Drops segments beyond the limit, for at most `ns`; the next call continues. A negative errno: a
 * segment could not be read.
 */
int kept_turn(struct kept *kept, uint64_t ns);

/* Is no segment partly dropped? */
bool kept_is_settled(const struct kept *kept);

/* Start of the kept part; 0: nothing is kept. */
uint64_t kept_since(const struct kept *kept);

/*
 * Writes the kept part as a profile with this number. It ends with the `count` records in `last`,
 * whose final one gives the end time: segments that begin then or later are left out. With none,
 * the last segment has its own end. Must be settled before and is unusable afterwards, so call it
 * in a child that exits, or at the end. Takes over the sink, even on failure.
 */
int kept_write(struct kept *kept, uint64_t number, const struct record *last, size_t count,
	       struct sink *sink);

#endif
