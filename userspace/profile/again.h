/* SPDX-License-Identifier: BSD-2-Clause */
/* again.h: makes each segment of a recording complete: it defines again what it uses. */
/*
 * All records pass through here on their way to the profile. Ids are those of the recording, in all
 * segments. What a record refers to and this segment has not defined yet is repeated before it, in
 * `again` records, which a reader of earlier segments skips.
 *
 * The memory for this is limited. Beyond the limit the oldest entries are forgotten, those in use
 * by others last; later segments lack their definitions.
 */
#ifndef GCPROF_AGAIN_H
#define GCPROF_AGAIN_H

#include "record.h"

struct again;

/* The profile. Both functions return 0 or an error; `write` must not call back. */
struct again_output {
	/* Appends a record. */
	int (*write)(void *context, const struct record *record);
	/* The id of a string, defined by again_put() if it is new; 0: no memory. */
	uint64_t (*string)(void *context, const char *text, size_t size);
	void *context;
};

/* Before the first segment. -ENOMEM. */
int again_create(const struct again_output *output, struct again **out);
void again_free(struct again *again); /* NULL is allowed */

/* Writes to `output` the facts about the recording that were put before this segment, for another
 * file, with this number, that begins at `time` (CLOCK_MONOTONIC). Returns an error of `write`, or
 * -EBADMSG. */
int again_head(struct again *again, const struct again_output *output, uint64_t segment,
	       uint64_t time, uint64_t part);

/* The number of the segment that was begun last, from 1; 0: none. */
uint64_t again_number(const struct again *again);

/* Begins a segment. Returns an error of `write`, or -ENOMEM. */
int again_segment(struct again *again, uint64_t time);

/* Writes a record, and before it what it refers to. Same errors. */
int again_put(struct again *again, const struct record *record);

/* Defines a thread in this segment, before a record that is not passed to again_put(). */
int again_thread(struct again *again, uint64_t thread);

/* Finds a stack: its innermost frame, and the stack outside that, which replaces it. False: it was
 * forgotten. */
bool again_stack(const struct again *again, uint64_t *stack, uint64_t *frame);

/* Bytes that this segment repeats, so far. */
uint64_t again_bytes(const struct again *again);

#endif
