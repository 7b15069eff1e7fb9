/* SPDX-License-Identifier: BSD-2-Clause */
/* probe_cycles.c: pairs the probes cycle_begin and cycle_end. */
#include <errno.h>
#include <stdlib.h>

#include "firing.h"
#include "places.h"

#define CYCLES_MAX 16 /* in progress in a process */

/* The cycles in progress in a process; began 0: none. */
struct open_cycles {
	struct event_gc_cycle of[CYCLES_MAX];
};

static struct open_cycles *cycles_of(struct places *places, uint64_t process)
{
	uint64_t *value = map_put(places->cycles, &process, NULL);

	if (value && !*value)
		*value = (uint64_t)(uintptr_t)calloc(1, sizeof(struct open_cycles));
	return value ? (struct open_cycles *)(uintptr_t)*value : NULL;
}

/* The cycle in progress in the heap of an event, otherwise a free entry, or NULL. */
static struct event_gc_cycle *probe_cycles_find(struct open_cycles *open,
						const struct event_gc_cycle *event)
{
	struct event_gc_cycle *unused = NULL;

	for (size_t i = 0; i < CYCLES_MAX; i++) {
		struct event_gc_cycle *cycle = &open->of[i];

		if (!cycle->began)
			unused = cycle;
		else if (cycle->heap == event->heap &&
			 cycle->header.provider == event->header.provider)
			return cycle;
	}
	return unused;
}

static void emit(struct places *places, struct event_gc_cycle *cycle, uint64_t time)
{
	struct event_gc_cycle event = *cycle;

	cycle->began = 0;
	event.header.time = time;
	places_put(places, &event.header, EVENT_gc_cycle, sizeof(event));
}

int places_cycle(struct places *places, const struct event_gc_cycle *event, size_t size)
{
	struct open_cycles *open;
	struct event_gc_cycle *cycle;
	bool lost;

	if (size < sizeof(*event))
		return -EBADMSG;
	open = cycles_of(places, event->header.process);
	if (!open)
		return -ENOMEM;
	cycle = probe_cycles_find(open, event);
	if (event->began) {
		/* Nothing is known about the end of the one before. */
		lost = !cycle || cycle->began;
		if (cycle)
			*cycle = *event;
		return lost ? -ENOENT : 0;
	}
	/* Otherwise it began before the recording, or its begin was lost, which is counted. */
	if (cycle && cycle->began && cycle->cycle == event->cycle) {
		cycle->heap_after = event->heap_after;
		cycle->live = event->live;
		cycle->unfinished = 0;
		emit(places, cycle, event->header.time);
	}
	return 0;
}

static void end_all(struct places *places, struct open_cycles *open, uint64_t time)
{
	for (size_t i = 0; open && i < CYCLES_MAX; i++)
		if (open->of[i].began && open->of[i].began <= time)
			emit(places, &open->of[i], time);
}

void places_end_cycles(struct places *places, uint64_t process, uint64_t time, bool ends)
{
	const uint64_t *value = map_get(places->cycles, &process);

	if (!value)
		return;
	end_all(places, (struct open_cycles *)(uintptr_t)*value, time);
	if (!ends)
		return;
	free((void *)(uintptr_t)*value);
	map_remove(places->cycles, &process);
}

void places_finish_cycles(struct places *places, uint64_t now)
{
	size_t cursor = 0;
	const void *key;
	uint64_t *value;

	while (map_next(places->cycles, &cursor, &key, &value))
		end_all(places, (struct open_cycles *)(uintptr_t)*value, now);
}
