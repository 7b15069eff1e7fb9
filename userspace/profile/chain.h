/* SPDX-License-Identifier: BSD-2-Clause */
/* chain.h: reads recordings from any of their segments on. */
/*
 * Ids are those of a recording, so those of a later segment may be high and far apart, and those of
 * different recordings the same. As soon as this matters they are replaced by consecutive ones. Not
 * thread-safe.
 */
#ifndef GCPROF_CHAIN_H
#define GCPROF_CHAIN_H

#include <stdbool.h>

#include "record.h"

struct chain;

/* NULL: no memory. */
struct chain *chain_create(void);
void chain_free(struct chain *chain); /* NULL is allowed */

/* A segment begins, or goes on. Its time is the base of times in `again` records. 0 or -ENOMEM. */
int chain_segment(struct chain *chain, const struct record_segment *segment);
uint64_t chain_time(const struct chain *chain);

/* Was what this `again` record repeats in no segment that was read? */
bool chain_lacks(const struct chain *chain, const struct record_again *again);

/*
 * Replaces the ids in a record, and sets the number of its recording; an id without a definition
 * becomes 0. 0; 1: leave it out, it is repeated and was there before; -ENOMEM; -EBADMSG: ids of no
 * recorder.
 */
int chain_take(struct chain *chain, struct record *record, bool repeated);

#endif
