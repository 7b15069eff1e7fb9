/* SPDX-License-Identifier: BSD-2-Clause */
/* causes.c: the objects that a pause processed, by stack and type. */
/*
 * A full collection may walk millions of sampled objects from as many stacks, but a report shows
 * only the largest sites. When there are CAUSES_MAX stacks, the half with fewer bytes is counted
 * only in the sums. A site that is large because of any one of its stacks stays.
 */
#include "causes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../../util/map.h"
#include "../rows/sites.h"
#include "../world/allocating.h"
#include "../world/arena.h"
#include "../world/world.h"

enum { CAUSES_MAX = 8192 };

struct cause {
	uint32_t cost, type;
	double bytes, kept;
	uint64_t samples, kept_samples;
};

struct causes {
	struct cause *items; /* item 0 is none */
	size_t count, capacity;
	struct map *index; /* {cost, type} -> index */
	struct cause sum;
};

struct causes *causes_create(void)
{
	struct causes *causes = calloc(1, sizeof(*causes));

	if (!causes)
		return NULL;
	causes->count = 1;
	causes->index = map_create(2 * sizeof(uint32_t));
	if (causes->index)
		return causes;
	causes_free(causes);
	return NULL;
}

void causes_free(struct causes *causes)
{
	if (!causes)
		return;
	map_free(causes->index);
	free(causes->items);
	free(causes);
}

static int by_bytes(const void *a, const void *b)
{
	const struct cause *x = a, *y = b;

	if (x->kept != y->kept)
		return x->kept < y->kept ? 1 : -1;
	if (x->bytes != y->bytes)
		return x->bytes < y->bytes ? 1 : -1;
	return x->cost != y->cost ? (x->cost > y->cost) - (x->cost < y->cost)
				  : (x->type > y->type) - (x->type < y->type);
}

static int index_items(struct causes *causes)
{
	for (size_t i = 1; i < causes->count; i++) {
		const uint32_t key[2] = {causes->items[i].cost, causes->items[i].type};
		uint64_t *number = map_put(causes->index, key, NULL);

		if (!number)
			return -ENOMEM;
		*number = i;
	}
	return 0;
}

static int halve(struct causes *causes)
{
	struct map *index = map_create(2 * sizeof(uint32_t));

	if (!index)
		return -ENOMEM;
	map_free(causes->index);
	causes->index = index;
	qsort(causes->items + 1, causes->count - 1, sizeof(*causes->items), by_bytes);
	causes->count = 1 + CAUSES_MAX / 2;
	return index_items(causes);
}

static void add(struct cause *into, double bytes, double kept)
{
	into->bytes += bytes;
	into->kept += kept;
	into->samples++;
	into->kept_samples += kept > 0;
}

int causes_add(struct causes *causes, uint32_t cost, uint32_t type, double bytes, double kept)
{
	const uint32_t key[2] = {cost, type};
	uint64_t *number;

	if (causes->count > CAUSES_MAX && halve(causes) < 0)
		return -ENOMEM;
	number = map_put(causes->index, key, NULL);
	if (!number || array_reserve(&causes->items, &causes->capacity, causes->count,
				     sizeof(*causes->items)) < 0)
		return -ENOMEM;
	if (!*number) {
		*number = causes->count;
		causes->items[causes->count++] = (struct cause){.cost = cost, .type = type};
	}
	add(&causes->items[*number], bytes, kept);
	add(&causes->sum, bytes, kept);
	return 0;
}

/* A cause with its site and type name. */
struct place {
	uint32_t functions[SITE_FUNCTIONS]; /* indexes into the function table plus 1; 0: no more */
	const char *type;
	uint32_t stack; /* the one with `most` bytes, where kept bytes count twice */
	double most;
	double bytes, kept;
	uint64_t samples, kept_samples;
};

static int compare_places(const struct place *a, const struct place *b)
{
	for (int i = 0; i < SITE_FUNCTIONS; i++)
		if (a->functions[i] != b->functions[i])
			return a->functions[i] < b->functions[i] ? -1 : 1;
	return strcmp(a->type, b->type);
}

static int by_site(const void *a, const void *b)
{
	return compare_places(a, b);
}

static int by_weight(const void *a, const void *b)
{
	const struct place *x = a, *y = b;

	if (x->kept != y->kept)
		return x->kept < y->kept ? 1 : -1;
	if (x->bytes != y->bytes)
		return x->bytes < y->bytes ? 1 : -1;
	return compare_places(x, y);
}

/* Merges those with the same site and type. Returns how many remain. */
static size_t merge_places(struct place *places, size_t count)
{
	size_t used = 0;

	qsort(places, count, sizeof(*places), by_site);
	for (size_t i = 0; i < count; i++) {
		if (used && !compare_places(&places[used - 1], &places[i])) {
			if (places[used - 1].most < places[i].most) {
				places[used - 1].most = places[i].most;
				places[used - 1].stack = places[i].stack;
			}
			places[used - 1].bytes += places[i].bytes;
			places[used - 1].kept += places[i].kept;
			places[used - 1].samples += places[i].samples;
			places[used - 1].kept_samples += places[i].kept_samples;
		} else {
			places[used++] = places[i];
		}
	}
	qsort(places, used, sizeof(*places), by_weight);
	return used;
}

static void fill_site(const struct world *world, const struct place *place, struct pause_site *site)
{
	for (int i = 0; i < SITE_FUNCTIONS && place->functions[i]; i++)
		site->functions[i] = world->functions.rows[place->functions[i] - 1].name;
	if (!site->functions[0])
		site->functions[0] = "(no stack)";
	site->type = place->type;
	site->stack = place->stack;
	site->bytes = place->bytes;
	site->kept_bytes = place->kept;
	site->samples = place->kept > 0 ? place->kept_samples : place->samples;
}

int causes_sites(const struct causes *causes, const struct world *world, struct model_pause *row)
{
	size_t count = causes->count - 1;
	struct place *places = calloc(count + 1, sizeof(*places));

	if (!places)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		const struct cause *cause = &causes->items[i + 1];
		const char *type = world->types.items[cause->type].name;

		sites_functions(world, world->tree.costs[cause->cost].stack, places[i].functions);
		places[i].type = type ? type : "?";
		places[i].stack =
			allocating_stack(&world->tree, world->tree.costs[cause->cost].stack);
		places[i].most = cause->bytes + cause->kept;
		places[i].bytes = cause->bytes;
		places[i].kept = cause->kept;
		places[i].samples = cause->samples;
		places[i].kept_samples = cause->kept_samples;
	}
	count = merge_places(places, count);
	row->n_sites = count < PAUSE_SITES ? count : PAUSE_SITES;
	for (size_t i = 0; i < row->n_sites; i++)
		fill_site(world, &places[i], &row->sites[i]);
	row->sampled_bytes = causes->sum.bytes;
	row->kept_bytes = causes->sum.kept;
	row->samples = causes->sum.samples;
	row->kept_samples = causes->sum.kept_samples;
	free(places);
	return 0;
}
