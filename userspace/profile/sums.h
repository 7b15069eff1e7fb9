/* SPDX-License-Identifier: BSD-2-Clause */
/* sums.h: records with running sums since the start of a recording: their growth, and back. */
#ifndef GCPROF_SUMS_H
#define GCPROF_SUMS_H

#include <stdbool.h>

#include "record.h"
#include "../util/buffer.h"

/* Does a later record of this kind about the same thing supersede all earlier ones? */
bool sums_are_in(enum record_kind kind);

/*
 * Replaces the sums in `record` by their growth since `base`, a record of the same kind. Maxima are
 * kept if they are newer than `base`. Otherwise they are 0 for waits, and for calls the start of
 * their bucket. BYTES then point into `room`. 0 or -ENOMEM.
 */
int sums_subtract(struct record *record, const struct record *base, struct buffer *room);

/* Adds the sums of `base`, an earlier record; keeps the larger maximum. Otherwise the same. */
int sums_add(struct record *record, const struct record *base, struct buffer *room);

#endif
