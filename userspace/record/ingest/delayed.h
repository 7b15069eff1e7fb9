/* SPDX-License-Identifier: BSD-2-Clause */
/* delayed.h: stores events in order while some wait for a reader to unwind their stack dumps. */
#ifndef GCPROF_DELAYED_H
#define GCPROF_DELAYED_H

#include <stdbool.h>

#include "../store/counters.h"
#include "../store/store.h"

struct delayed;

/* Both are borrowed. -ENOMEM. */
int delayed_create(struct store *store, struct counters *counters, struct delayed **out);
void delayed_free(struct delayed *delayed); /* NULL is allowed */

/* Stores an event, or keeps a copy until those before it are stored. Errors as store_event(). */
int delayed_store(struct delayed *delayed, const struct event_header *event);

/*
 * Stores waiting events whose dumps were unwound. Waits for a reader, at most `ns`, since it is
 * faster than a round. Errors as store_event().
 */
int delayed_turn(struct delayed *delayed, uint64_t ns);

/* Is everything stored? */
bool delayed_is_empty(const struct delayed *delayed);

#endif
