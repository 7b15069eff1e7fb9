/* SPDX-License-Identifier: BSD-2-Clause */
/* places.c: where threads are that wait outside of system calls, until they are back. */
#include "places.h"

#include <errno.h>
#include <stdlib.h>

#include "../../util/buffer.h"
#include "../../util/map.h"

/* Threads; as many from before are kept, too. So a thread that waits while so many others do, or
 * whose end was lost, does not take memory for ever. */
enum { GENERATION_MAX = 65536 };

struct generation {
	struct buffer items; /* struct place[] */
	struct map *index;   /* thread -> number of the item, from 1 */
};

struct places {
	struct generation now, before;
};

static int generation_create(struct generation *generation)
{
	*generation = (struct generation){.index = map_create(sizeof(uint64_t))};
	return generation->index ? 0 : -ENOMEM;
}

static void generation_free(struct generation *generation)
{
	buffer_free(&generation->items);
	map_free(generation->index);
}

int places_create(struct places **out)
{
	struct places *places = calloc(1, sizeof(*places));

	if (!places || generation_create(&places->now) || generation_create(&places->before)) {
		places_free(places);
		return -ENOMEM;
	}
	*out = places;
	return 0;
}

/* If the present generation is full it becomes that of before. */
static int make_room(struct places *places)
{
	struct generation fresh;

	if (map_count(places->now.index) < GENERATION_MAX)
		return 0;
	if (generation_create(&fresh))
		return -ENOMEM;
	generation_free(&places->before);
	places->before = places->now;
	places->now = fresh;
	return 0;
}

static struct place *find(const struct generation *generation, uint64_t thread)
{
	const uint64_t *number = map_get(generation->index, &thread);

	return number && *number ? (struct place *)(void *)generation->items.data + (*number - 1)
				 : NULL;
}

int places_set(struct places *places, uint64_t thread, const struct place *place)
{
	struct place *known = find(&places->now, thread);
	uint64_t *number;

	if (known) {
		*known = *place;
		return 0;
	}
	if (make_room(places) || buffer_append(&places->now.items, place, sizeof(*place)))
		return -ENOMEM;
	number = map_put(places->now.index, &thread, NULL);
	if (!number)
		return -ENOMEM;
	*number = places->now.items.size / sizeof(*place);
	return 0;
}

bool places_get(const struct places *places, uint64_t thread, uint64_t time, struct place *out)
{
	const struct place *known = find(&places->now, thread);

	if (!known)
		known = find(&places->before, thread);
	if (known)
		*out = *known;
	return known && known->time == time;
}

void places_free(struct places *places)
{
	if (!places)
		return;
	generation_free(&places->now);
	generation_free(&places->before);
	free(places);
}
