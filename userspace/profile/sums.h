/* SPDX-License-Identifier: BSD-2-Clause */
/* sums.h: records whose figures are sums since a recording began: what they grew by, and back. */
#ifndef GCPROF_SUMS_H
#define GCPROF_SUMS_H

#include <stdbool.h>

#include "record.h"
#include "../util/buffer.h"

/* Does a later record of the kind, about the same, stand for all before it? */
bool sums_are_in(enum record_kind kind);

/*
 * Makes the sums in `record` what they grew by since `base`, a record of the same kind.
 * The longest of something is known if it came since, or else 0 (waits), or of calls where the
 * bucket begins that it is in. `room` holds what BYTES point to then. 0 or -ENOMEM.
 */
int sums_subtract(struct record *record, const struct record *base, struct buffer *room);

/* Adds those of `base`, which came before; of the longest the longer one. */
int sums_add(struct record *record, const struct record *base, struct buffer *room);

#endif
