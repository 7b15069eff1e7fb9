// SPDX-License-Identifier: BSD-2-Clause
/* untold.c: processes whose begin no record tells, because it was lost: met by what else they do.
 */
/*
 * The kernel side tells of a process before the process does anything that is
 * recorded. So whoever has an event from before a moment after which all rings
 * were emptied, and was not told of by then, is not told of any more.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "untold.h"
#include "../../util/buffer.h"
#include "../../util/map.h"

struct first {
	uint64_t time;
	uint32_t process, pid;
};

struct untold {
	struct buffer judged; /* a bit for each index: nothing is to be found out any more */
	struct map *places;   /* index to place in `firsts`, from 1 */
	struct buffer firsts; /* struct first[], of those that are to be judged */
};

int untold_create(struct untold **out)
{
	struct untold *untold = calloc(1, sizeof(*untold));

	if (untold)
		untold->places = map_create(sizeof(uint32_t));
	if (!untold || !untold->places) {
		free(untold);
		return -ENOMEM;
	}
	*out = untold;
	return 0;
}

void untold_free(struct untold *untold)
{
	if (!untold)
		return;
	buffer_free(&untold->judged);
	buffer_free(&untold->firsts);
	map_free(untold->places);
	free(untold);
}

static bool is_judged(const struct untold *untold, uint32_t process)
{
	size_t byte = process / 8;

	return byte < untold->judged.size && untold->judged.data[byte] >> process % 8 & 1;
}

/* Without memory it is judged again at its next event: no harm. */
static void set_judged(struct untold *untold, uint32_t process)
{
	size_t byte = process / 8, size = untold->judged.size;

	if (byte >= size) {
		if (buffer_reserve(&untold->judged, byte + 1 - size))
			return;
		memset(untold->judged.data + size, 0, byte + 1 - size);
		untold->judged.size = byte + 1;
	}
	untold->judged.data[byte] = (char)(untold->judged.data[byte] | 1 << process % 8);
}

int untold_met(struct untold *untold, const struct event_header *event)
{
	struct first first = {event->time, event->process, event->pid};
	uint64_t *place;

	if (!event->process || is_judged(untold, event->process))
		return 0;
	place = map_put(untold->places, &event->process, NULL);
	if (!place)
		return -ENOMEM;
	if (*place) {
		struct first *known = (struct first *)(void *)untold->firsts.data + (*place - 1);

		if (event->time < known->time)
			*known = first;
		return 0;
	}
	if (buffer_append(&untold->firsts, &first, sizeof(first))) {
		map_remove(untold->places, &event->process);
		return -ENOMEM;
	}
	*place = untold->firsts.size / sizeof(first);
	return 0;
}

void untold_judge(struct untold *untold, uint64_t until, untold_visit *visit, void *context)
{
	struct first *all = (struct first *)(void *)untold->firsts.data;
	size_t count = untold->firsts.size / sizeof(*all), kept = 0;

	for (size_t i = 0; i < count; i++) {
		struct first first = all[i];
		uint64_t *place = map_get(untold->places, &first.process);

		if (first.time < until) {
			map_remove(untold->places, &first.process);
			set_judged(untold, first.process);
			visit(context, first.process, first.pid, first.time);
			continue;
		}
		all[kept++] = first;
		if (place)
			*place = kept;
	}
	untold->firsts.size = kept * sizeof(*all);
}
