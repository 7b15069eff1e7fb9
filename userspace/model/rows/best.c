/* SPDX-License-Identifier: BSD-2-Clause */
/* best.c: keeps the N greatest of many values: a heap with the least on top. */
#include "best.h"

#include <errno.h>
#include <stdlib.h>

struct entry {
	double value;
	uint32_t number;
};

struct best {
	size_t count, most;
	struct entry entries[];
};

int best_create(size_t most, struct best **out)
{
	*out = calloc(1, sizeof(**out) + most * sizeof((*out)->entries[0]));
	if (!*out)
		return -ENOMEM;
	(*out)->most = most;
	return 0;
}

void best_free(struct best *best)
{
	free(best);
}

static void sink(struct best *best, struct entry entry)
{
	size_t at = 0, child;

	while ((child = 2 * at + 1) < best->count) {
		if (child + 1 < best->count &&
		    best->entries[child + 1].value < best->entries[child].value)
			child++;
		if (best->entries[child].value >= entry.value)
			break;
		best->entries[at] = best->entries[child];
		at = child;
	}
	best->entries[at] = entry;
}

static void rise(struct best *best, struct entry entry)
{
	size_t at = best->count++;

	while (at && best->entries[(at - 1) / 2].value > entry.value) {
		best->entries[at] = best->entries[(at - 1) / 2];
		at = (at - 1) / 2;
	}
	best->entries[at] = entry;
}

void best_offer(struct best *best, double value, uint32_t number)
{
	struct entry entry = {value, number};

	if (!(value > 0))
		return;
	if (best->count < best->most)
		rise(best, entry);
	else if (value > best->entries[0].value)
		sink(best, entry);
}

size_t best_count(const struct best *best)
{
	return best ? best->count : 0;
}

uint32_t best_number(const struct best *best, size_t i)
{
	return best->entries[i].number;
}
