/* SPDX-License-Identifier: BSD-2-Clause */
/* batched.h: hands back collections that are stored by the batch, each at its own time. */
/*
 * A record `collections` stands where the first of them begins. The others, and
 * their ends, belong among the records that follow: they wait here.
 */
#ifndef GCPROF_BATCHED_H
#define GCPROF_BATCHED_H

#include <stdbool.h>

#include "record.h"

struct batched;

int batched_create(struct batched **out);
void batched_free(struct batched *batched); /* NULL is allowed */

/* Adds what the record tells. -EBADMSG if it makes no sense, -ENOMEM. There must be room. */
int batched_add(struct batched *batched, const struct record_collections *record);

/* Does as much wait as ever may? Then some is to be taken before more is added. */
bool batched_is_full(const struct batched *batched);
bool batched_is_empty(const struct batched *batched);

/* Does one of those that wait come before a record with this time, in ns? A gc_begin does at the
 * same time, too, a gc_end does not: so what is told of a collection at its ends lies in it. */
bool batched_is_due(const struct batched *batched, uint64_t time);

/* Takes it; of equal times, the one that was added first. False: nothing waits. */
bool batched_take(struct batched *batched, struct record *out);

#endif
