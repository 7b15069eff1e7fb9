/* SPDX-License-Identifier: BSD-2-Clause */
/* kept.h: keeps the last part of a recording, and writes it as a profile. */
/*
 * The recording goes from segment to segment, files without a name. Of a segment that is dropped
 * remains what later ones refer to and what sums had come to (carry.h), so what is kept has a
 * limit, however long the recording is.
 */
#ifndef GCPROF_KEPT_H
#define GCPROF_KEPT_H

#include <stdbool.h>

#include "record.h"
#include "sink.h"

struct kept;

/* What to keep: the last so many ns, and no more bytes on disk; 0: any. -ENOMEM. */
int kept_create(uint64_t ns, uint64_t bytes, struct kept **out);
void kept_free(struct kept *kept); /* NULL is allowed */

/* Another segment begins, at this time; the one before has been written. The sink is for its writer
 * and does not close it. A negative errno. */
int kept_begin(struct kept *kept, uint64_t time, struct sink **sink);

/* How long a segment is: so that the limit can be kept by dropping one; 0 bytes: any. */
uint64_t kept_segment_ns(const struct kept *kept);
uint64_t kept_segment_bytes(const struct kept *kept);

/*
 * Drops what is beyond the limit; takes `ns` at most, and goes on in the next call. A negative
 * errno: a segment could not be read.
 */
int kept_turn(struct kept *kept, uint64_t ns);

/* Is nothing half dropped? */
bool kept_is_settled(const struct kept *kept);

/* Since when all is kept; 0: there is nothing. */
uint64_t kept_since(const struct kept *kept);

/*
 * Writes what is kept as a profile with this number, which ends with these records, the last of
 * which says when: segments that begin then or later are left out. None: the last segment has its
 * end. It must be settled, and is of no use afterwards: to be called in a process that ends then,
 * or at the end. Takes over the sink, also when it fails.
 */
int kept_write(struct kept *kept, uint64_t number, const struct record *last, size_t count,
	       struct sink *sink);

#endif
