/* SPDX-License-Identifier: BSD-2-Clause */
/* paused.h: the times in which recordings were paused, from their `paused` records. */
#ifndef GCPROF_PAUSED_H
#define GCPROF_PAUSED_H

#include "record.h"
#include "../util/buffer.h"

struct paused_time {
	uint64_t recording; /* its number; 0: the only one */
	uint64_t begin, end;
	uint64_t before; /* sum of its recording's earlier ones, set by paused_clip() */
};

/* All zero is empty; a recording's times are in order and do not overlap. Not thread-safe. */
struct paused {
	struct buffer times;  /* struct paused_time[]: those that have ended */
	struct buffer states; /* private: by recording */
};

void paused_free(struct paused *paused);

/*
 * 1: a pause has ended, and is the last of `times`; 0; -ENOMEM or -EBADMSG. A recording that ends
 * is resumed.
 */
int paused_add(struct paused *paused, const struct record_paused *record);

/* Leaves of `times` what lies within, and sorts them by recording and time. */
void paused_clip(struct paused *paused, uint64_t begin, uint64_t end);

/* How long this recording was paused between two times, from clipped times. */
uint64_t paused_between(const struct paused_time *times, size_t count, uint64_t recording,
			uint64_t begin, uint64_t end);

/* The times, and how many there are. */
struct paused_time *paused_times(const struct paused *paused, size_t *count);

#endif
