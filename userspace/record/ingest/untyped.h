/* SPDX-License-Identifier: BSD-2-Clause */
/* untyped.h: adds types that arrived later to their samples, before these are stored. */
/*
 * A `typed` event and its sample wait together for their turn in time order. The sample comes first
 * and takes the type. If the type is still there when its own event comes, it has no such sample.
 * Not thread-safe.
 */
#ifndef GCPROF_UNTYPED_H
#define GCPROF_UNTYPED_H

#include <stdbool.h>
#include <stddef.h>

#include "../../../bpf/events.h"

struct untyped;

int untyped_create(struct untyped **out);
void untyped_free(struct untyped *untyped); /* NULL is allowed */

/* An event begins to wait. -EEXIST: a second type; -EBADMSG; -ENOMEM. */
int untyped_meet(struct untyped *untyped, const struct event_header *event, size_t size);

/* An event is stored next: if it is a sample without a type, it gets the one that arrived. */
void untyped_resolve(struct untyped *untyped, struct event_header *event);

/* Did no sample take the type of this `typed` event? Drops it. */
bool untyped_is_left(struct untyped *untyped, const struct event_header *event);

#endif
