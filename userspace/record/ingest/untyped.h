/* SPDX-License-Identifier: BSD-2-Clause */
/* untyped.h: gives samples whose type came later that type, before they are stored. */
/*
 * A `typed` event and its sample wait together until they are in order of time. The
 * sample comes first and takes the type along. A type that is still there when its
 * own event comes has no such sample. Not thread-safe.
 */
#ifndef GCPROF_UNTYPED_H
#define GCPROF_UNTYPED_H

#include <stdbool.h>
#include <stddef.h>

#include "../../../bpf/events.h"

struct untyped;

int untyped_create(struct untyped **out);
void untyped_free(struct untyped *untyped); /* NULL is allowed */

/* An event begins to wait. -EEXIST: it is a second type; -EBADMSG; -ENOMEM. */
int untyped_meet(struct untyped *untyped, const struct event_header *event, size_t size);

/* An event is stored next: a sample without a type gets the one that came for it. */
void untyped_resolve(struct untyped *untyped, struct event_header *event);

/* Did no sample take the type of this `typed` event? It is dropped. */
bool untyped_is_left(struct untyped *untyped, const struct event_header *event);

#endif
