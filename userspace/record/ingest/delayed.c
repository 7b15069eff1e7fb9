/* SPDX-License-Identifier: BSD-2-Clause */
/* delayed.c: stores events in order while some wait for a reader to unwind their stack dumps. */
#include "flow_parts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../../reader/worker.h"
#include "../../util/buffer.h"
#include "../machine/clock.h"

#define BYTES_MAX ((size_t)32 << 20) /* of waiting events */

struct delayed {
	struct store *store;
	struct counters *counters;
	struct buffer events; /* each preceded by its size, both multiples of 8 */
	size_t from;          /* events before this are stored */
};

int delayed_create(struct store *store, struct counters *counters, struct delayed **out)
{
	struct delayed *delayed = calloc(1, sizeof(*delayed));

	if (!delayed)
		return -ENOMEM;
	delayed->store = store;
	delayed->counters = counters;
	*out = delayed;
	return 0;
}

void delayed_free(struct delayed *delayed)
{
	if (!delayed)
		return;
	buffer_free(&delayed->events);
	free(delayed);
}

static int keep(struct delayed *delayed, const struct event_header *event)
{
	static const char zeroes[8];
	struct buffer *events = &delayed->events;
	uint64_t size = ((uint64_t)event->size + 7) & ~UINT64_C(7);

	if (buffer_reserve(events, sizeof(size) + size)) {
		counters_add_loss(delayed->counters, LOSS_MEMORY, store_events_in(event));
		return 0;
	}
	buffer_append(events, &size, sizeof(size));
	buffer_append(events, event, event->size);
	return buffer_append(events, zeroes, size - event->size);
}

static void drop_stored(struct delayed *delayed)
{
	struct buffer *events = &delayed->events;

	if (delayed->from == events->size) {
		buffer_free(events);
		delayed->from = 0;
	} else if (delayed->from > BYTES_MAX / 2) {
		events->size -= delayed->from;
		memmove(events->data, events->data + delayed->from, events->size);
		delayed->from = 0;
	}
}

/* Stores until `left` bytes remain. 0; -EAGAIN: the first one is being unwound; or as
 * store_event(). */
static int store_some(struct delayed *delayed, size_t left)
{
	int err = 0;

	while (delayed->events.size - delayed->from > left) {
		const char *at = delayed->events.data + delayed->from;
		uint64_t size;

		memcpy(&size, at, sizeof(size));
		err = store_event(delayed->store, (const void *)(at + sizeof(size)));
		if (err)
			break;
		delayed->from += sizeof(size) + size;
	}
	drop_stored(delayed);
	return err;
}

/* Too much waits: stores the oldest events with the stacks from the kernel side. */
static int give_up(struct delayed *delayed)
{
	uint64_t until = store_walk_until(delayed->store, 1);
	int err = store_some(delayed, BYTES_MAX / 8 * 7);

	store_walk_until(delayed->store, until);
	return err;
}

int delayed_store(struct delayed *delayed, const struct event_header *event)
{
	int err = delayed->events.size - delayed->from > BYTES_MAX ? give_up(delayed) : 0;

	if (err)
		return err;
	err = -EAGAIN;
	if (!delayed->events.size)
		err = store_event(delayed->store, event);
	return err == -EAGAIN ? keep(delayed, event) : err;
}

int delayed_turn(struct delayed *delayed, uint64_t ns)
{
	uint64_t now = clock_now(), end = ns < UINT64_MAX - now ? now + ns : UINT64_MAX;
	int err = store_some(delayed, 0);

	while (err == -EAGAIN && clock_now() < end) {
		worker_wait_any(1);
		err = store_some(delayed, 0);
	}
	return err == -EAGAIN ? 0 : err;
}

bool delayed_is_empty(const struct delayed *delayed)
{
	return delayed->from == delayed->events.size;
}
