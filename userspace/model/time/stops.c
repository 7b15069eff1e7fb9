/* SPDX-License-Identifier: BSD-2-Clause */
/* stops.c: when collections stopped the threads of each process. */
#include "thread_time.h"

#include <errno.h>
#include <stdlib.h>

#include "../../util/map.h"
#include "../gc/open_gcs.h"
#include "../world/arena.h"

/* Sorted, and they do not overlap. */
struct stop_spans {
	struct stop_span {
		uint64_t begin, end, before; /* before: sum of the earlier ones */
	} * items;
	size_t count, capacity;
};

static void release(void *value)
{
	free(((struct stop_spans *)value)->items);
	free(value);
}

void stops_free(struct stops *stops)
{
	if (stops->processes)
		map_free_all(stops->processes, release);
}

static struct stop_spans *put(struct stops *stops, uint64_t process)
{
	uint64_t *value;

	if (!stops->processes)
		stops->processes = map_create(sizeof(process));
	value = stops->processes ? map_put(stops->processes, &process, NULL) : NULL;
	if (value && !*value)
		*value = (uint64_t)(uintptr_t)calloc(1, sizeof(struct stop_spans));
	return value ? (struct stop_spans *)(uintptr_t)*value : NULL;
}

int stops_add(struct stops *stops, uint64_t process, uint64_t begin, uint64_t end)
{
	struct stop_spans *spans = put(stops, process);
	struct stop_span *last;
	uint64_t before = 0;

	if (!spans ||
	    array_reserve(&spans->items, &spans->capacity, spans->count, sizeof(*spans->items)) < 0)
		return -ENOMEM;
	/* One that ends later may have begun earlier, and then contains others. */
	for (; spans->count && spans->items[spans->count - 1].end >= begin; spans->count--) {
		last = &spans->items[spans->count - 1];
		begin = last->begin < begin ? last->begin : begin;
		end = last->end > end ? last->end : end;
	}
	if (spans->count) {
		last = &spans->items[spans->count - 1];
		before = last->before + last->end - last->begin;
	}
	spans->items[spans->count++] = (struct stop_span){begin, end, before};
	return 0;
}

/* Total of the stops before this time. */
static uint64_t stopped_until(const struct stop_spans *spans, uint64_t time)
{
	size_t low = 0, high = spans ? spans->count : 0;
	const struct stop_span *last;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (spans->items[middle].begin < time)
			low = middle + 1;
		else
			high = middle;
	}
	if (!low)
		return 0;
	last = &spans->items[low - 1];
	return last->before + (time < last->end ? time : last->end) - last->begin;
}

uint64_t stops_between(const struct stops *stops, const struct open_gcs *open, uint64_t process,
		       uint64_t begin, uint64_t end)
{
	const uint64_t *value = stops->processes ? map_get(stops->processes, &process) : NULL;
	const struct stop_spans *spans = value ? (const struct stop_spans *)(uintptr_t)*value
					       : NULL;
	uint64_t current = end;

	for (size_t i = 0; open && i < open->count; i++)
		if (open->items[i].pause.process == process && open->items[i].pause.begin < current)
			current = open->items[i].pause.begin;
	if (current < begin)
		current = begin;
	return stopped_until(spans, current) - stopped_until(spans, begin) + end - current;
}
