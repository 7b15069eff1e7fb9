/* SPDX-License-Identifier: BSD-2-Clause */
/* places.c: where threads are that wait outside of system calls, until they are back. */
#include "places.h"

#include <errno.h>
#include <stdlib.h>

#include "../../util/buffer.h"
#include "../../util/map.h"

struct places {
	struct buffer items; /* struct place[] */
	struct map *index;   /* thread -> number of the item, from 1 */
};

int places_create(struct places **out)
{
	struct places *places = calloc(1, sizeof(*places));

	if (!places)
		return -ENOMEM;
	places->index = map_create(sizeof(uint64_t));
	if (!places->index) {
		free(places);
		return -ENOMEM;
	}
	*out = places;
	return 0;
}

int places_set(struct places *places, uint64_t thread, const struct place *place)
{
	uint64_t *number = map_put(places->index, &thread, NULL);

	if (!number)
		return -ENOMEM;
	if (*number) {
		((struct place *)(void *)places->items.data)[*number - 1] = *place;
		return 0;
	}
	if (buffer_append(&places->items, place, sizeof(*place)))
		return -ENOMEM;
	*number = places->items.size / sizeof(*place);
	return 0;
}

bool places_get(const struct places *places, uint64_t thread, uint64_t time, struct place *out)
{
	const uint64_t *number = map_get(places->index, &thread);

	if (!number || !*number)
		return false;
	*out = ((const struct place *)(const void *)places->items.data)[*number - 1];
	return out->time == time;
}

void places_free(struct places *places)
{
	if (!places)
		return;
	map_free(places->index);
	buffer_free(&places->items);
	free(places);
}
