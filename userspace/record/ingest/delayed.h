/* SPDX-License-Identifier: BSD-2-Clause */
/* delayed.h: stores events in order, of which some wait for a reader to walk their stack dumps. */
#ifndef GCPROF_DELAYED_H
#define GCPROF_DELAYED_H

#include <stdbool.h>

#include "../store/counters.h"
#include "../store/store.h"

struct delayed;

/* Both are borrowed. -ENOMEM. */
int delayed_create(struct store *store, struct counters *counters, struct delayed **out);
void delayed_free(struct delayed *delayed); /* NULL is allowed */

/* Stores an event, or keeps a copy until those before it are stored. As store_event(). */
int delayed_store(struct delayed *delayed, const struct event_header *event);

/*
 * Stores what waits, as far as there are walks. They come one after the other, faster than rounds
 * do, so they are waited for, `ns` at most. As store_event().
 */
int delayed_turn(struct delayed *delayed, uint64_t ns);

/* Is everything stored? */
bool delayed_is_empty(const struct delayed *delayed);

#endif
