/* SPDX-License-Identifier: BSD-2-Clause */
/* sites.c: allocation sites: one row per function and its nearest callers. */
/*
 * There may be as many sites as stacks, and a row is big. So the stacks are sorted by site, and
 * sites are summed one after the other. If there are more than SITES_MAX, only those among the
 * first SITES_MAX by some measure get rows.
 */
#include "sites.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../world/allocating.h"
#include "../world/arena.h"
#include "../world/world.h"

/* An allocating stack: indexes into the function table plus 1, the allocating one first. */
struct place {
	uint32_t functions[SITE_FUNCTIONS]; /* 0: no more */
	uint32_t life;                      /* number */
};

struct site {
	const struct place *place; /* first of its stacks */
	double gc_ns;
	struct caused caused;
	struct life life;
};

struct site_list {
	struct place *places; /* sorted by site */
	size_t count, capacity;
	size_t n_sites;
};

/* Sort keys of sites in reports. */
enum { MEASURES = 5 };

static void measure(const struct site *site, double values[MEASURES])
{
	values[0] = site->gc_ns;
	values[1] = site->life.bytes.value;
	values[2] = site->life.survived.some;
	values[3] = site->life.premature_bytes;
	values[4] = life_live_bytes(&site->life);
}

static bool is_managed(const struct tree *tree, const struct frame *frame)
{
	const struct module *module = dense_get(&tree->modules, frame->module);

	return frame->runtime == RUNTIME_MANAGED || (module && module->generated_by);
}

/* The outermost managed function of a stack; 0: none. */
static uint32_t outermost_managed(const struct tree *tree, uint32_t id)
{
	uint32_t found = 0;

	for (; id; id = tree_node(tree, id)->parent)
		if (is_managed(tree, tree_frame(tree, tree_node(tree, id)->frame)))
			found = id;
	return found;
}

/* Functions of a runtime between those that it runs would make several sites of one. */
void sites_functions(const struct world *world, uint32_t stack, uint32_t functions[SITE_FUNCTIONS])
{
	const struct tree *tree = &world->tree;
	bool interpreted = false, known = false; /* a managed function was seen; `last` is known */
	uint32_t last = 0;                       /* managed function still to come */
	size_t used = 0;

	for (uint32_t id = allocating_stack(&world->tree, stack); id;
	     id = tree_node(tree, id)->parent) {
		const struct frame *frame = tree_frame(tree, tree_node(tree, id)->frame);

		if (is_managed(tree, frame)) {
			interpreted = true;
			last = id == last ? 0 : last;
		} else if (interpreted) {
			last = known ? last : outermost_managed(tree, id);
			known = true;
			if (last)
				continue;
		}
		for (uint32_t i = frame->n_functions; i--;) {
			uint32_t row = world->functions.of_frames[frame->first_function + i] + 1;

			if (used && functions[used - 1] == row)
				continue;
			if (used == SITE_FUNCTIONS)
				return;
			functions[used++] = row;
		}
	}
}

static int compare_sites(const struct place *a, const struct place *b)
{
	for (int i = 0; i < SITE_FUNCTIONS; i++)
		if (a->functions[i] != b->functions[i])
			return a->functions[i] < b->functions[i] ? -1 : 1;
	return 0;
}

static int by_site(const void *a, const void *b)
{
	const struct place *x = a, *y = b;
	int order = compare_sites(x, y);

	return order ? order : (x->life > y->life) - (x->life < y->life);
}

static void swap_places(struct place *a, struct place *b)
{
	struct place kept = *a;

	*a = *b;
	*b = kept;
}

/*
 * Sorts by site in place: first into buckets by allocating function, then within each bucket,
 * because qsort() needs as much extra memory as it sorts. `ends` and `next` have one entry per
 * function and one more; `ends` starts as all 0.
 */
static void sort_places(struct site_list *list, size_t n_functions, size_t *ends, size_t *next)
{
	struct place *places = list->places;

	for (size_t i = 0; i < list->count; i++)
		ends[places[i].functions[0]]++;
	for (size_t i = 0, begin = 0; i <= n_functions; i++, begin = ends[i - 1]) {
		next[i] = begin;
		ends[i] += begin;
	}
	for (size_t i = 0, begin = 0; i <= n_functions; begin = ends[i++]) {
		while (next[i] < ends[i]) {
			size_t *to = &next[places[next[i]].functions[0]];

			swap_places(&places[next[i]], &places[*to]);
			++*to;
		}
		if (ends[i] - begin > 1)
			qsort(places + begin, ends[i] - begin, sizeof(*places), by_site);
	}
}

static int add_place(const struct world *world, struct site_list *list, const struct cost *cost)
{
	struct place *place;

	if (!cost->life)
		return 0;
	if (array_reserve(&list->places, &list->capacity, list->count, sizeof(*place)) < 0)
		return -ENOMEM;
	place = &list->places[list->count++];
	place->life = cost->life;
	sites_functions(world, cost->stack, place->functions);
	return 0;
}

static int gather(const struct world *world, struct site_list *list)
{
	const struct tree *tree = &world->tree;
	size_t n = world->functions.n_rows, n_costs = 0;
	size_t *ends = calloc(2 * (n + 1), sizeof(*ends));
	uint32_t *order = tree_order(tree, &n_costs);
	int error = ends && order ? 0 : -ENOMEM;

	for (size_t i = 0; i < n_costs && !error; i++) {
		tree_prefetch(tree, order, i, n_costs);
		error = add_place(world, list, &tree->costs[order[i]]);
	}
	if (!error)
		error = add_place(world, list, &tree->costs[0]);
	if (!error)
		sort_places(list, n, ends, ends + n + 1);
	for (size_t i = 0; i < list->count && !error; i++)
		list->n_sites += !i || compare_sites(&list->places[i - 1], &list->places[i]);
	free(ends);
	free(order);
	return error;
}

/* The end of the site that begins at index `at`. */
static size_t site_end(const struct site_list *list, size_t at)
{
	const struct place *first = &list->places[at];

	while (at < list->count && !compare_sites(first, &list->places[at]))
		at++;
	return at;
}

static struct site sum_up(const struct world *world, const struct site_list *list, size_t at,
			  size_t end)
{
	const struct stack_lives *lives = &world->tree.lives;
	struct site site = {.place = &list->places[at]};

	for (; at < end; at++) {
		if (at + 8 < list->count)
			__builtin_prefetch(&lives->items[list->places[at + 8].life]);
		site.gc_ns += (double)lives->items[list->places[at].life].gc_ns;
		caused_add(&site.caused, lives, list->places[at].life);
		stack_life_merge(&site.life, lives, list->places[at].life);
	}
	return site;
}

static void add_row(const struct world *world, const struct site *site)
{
	const struct functions *functions = &world->functions;
	const struct type *type = &world->types.items[site->life.type];
	struct model_site *row = &world->model->sites[world->model->n_sites++];
	const struct caused_figures figures = caused_figures(&site->caused, &world->model->gc.paces,
							     &site->life.bytes,
							     site->life.survived.some);

	for (int i = 0; i < SITE_FUNCTIONS && site->place->functions[i]; i++)
		row->functions[i] = functions->rows[site->place->functions[i] - 1].name;
	if (row->functions[0]) {
		row->file = functions->rows[site->place->functions[0] - 1].file;
		row->line = functions->rows[site->place->functions[0] - 1].line;
	} else {
		row->functions[0] = "(no stack)";
	}
	row->type = site->life.mixed ? NULL : type->name;
	row->gc_ns = figures.charged;
	row->gc_allocating_ns = figures.allocating;
	row->gc_keeping_ns = figures.keeping;
	row->kept_known = world->model->gc.paces.kept_known;
	row->bytes = tally_estimate(&site->life.bytes);
	row->survived = share_estimate(&site->life.survived);
	row->life = site->life;
	row->life_known = life_is_known(&site->life);
	row->survival_known = site->life.survived.all > 0;
	row->samples = site->life.samples;
	row->live_bytes = life_live_bytes(&site->life);
	row->median_age_below_bytes = life_median_age(&site->life);
}

/* Marks the first places of the sites that get rows. Returns how many, or -ENOMEM. */
static int64_t choose(const struct world *world, const struct site_list *list,
		      unsigned char *chosen)
{
	struct best *best[MEASURES] = {NULL};
	int64_t count = 0;
	struct site site;
	int error = 0;

	for (int i = 0; i < MEASURES && !error; i++)
		error = best_create(SITES_MAX, &best[i]);
	for (size_t at = 0, next; at < list->count && !error; at = next) {
		double values[MEASURES];

		next = site_end(list, at);
		site = sum_up(world, list, at, next);
		measure(&site, values);
		for (int i = 0; i < MEASURES; i++)
			best_offer(best[i], values[i], (uint32_t)at);
	}
	for (int i = 0; i < MEASURES; i++) {
		for (size_t j = 0; j < best_count(best[i]) && !error; j++) {
			unsigned char *mark = &chosen[best_number(best[i], j)];

			count += !*mark;
			*mark = 1;
		}
		best_free(best[i]);
	}
	return error ? error : count;
}

static int by_cost(const void *a, const void *b)
{
	const struct model_site *x = a, *y = b;

	if (x->gc_ns.value != y->gc_ns.value)
		return x->gc_ns.value < y->gc_ns.value ? 1 : -1;
	if (x->bytes.value != y->bytes.value)
		return x->bytes.value < y->bytes.value ? 1 : -1;
	return strcmp(x->functions[0], y->functions[0]);
}

/* Makes rows for sites whose first place is marked, or for all if `chosen` is NULL. */
static int make_rows(struct world *world, const struct site_list *list, const unsigned char *chosen,
		     size_t count)
{
	struct model *model = world->model;
	struct site site;

	model->sites = calloc(count + 1, sizeof(*model->sites));
	if (!model->sites)
		return -ENOMEM;
	for (size_t at = 0, next; at < list->count; at = next) {
		next = site_end(list, at);
		if (chosen && !chosen[at])
			continue;
		site = sum_up(world, list, at, next);
		add_row(world, &site);
	}
	if (model->n_sites)
		qsort(model->sites, model->n_sites, sizeof(*model->sites), by_cost);
	return 0;
}

int sites_finish(struct world *world)
{
	struct site_list list = {NULL};
	unsigned char *chosen = NULL;
	int64_t count;
	int error = gather(world, &list);

	count = (int64_t)list.n_sites;
	world->model->n_sites_found = list.n_sites;
	if (!error && list.n_sites > SITES_MAX) {
		chosen = calloc(list.count, 1);
		count = chosen ? choose(world, &list, chosen) : -ENOMEM;
	}
	if (!error)
		error = count < 0 ? (int)count : make_rows(world, &list, chosen, (size_t)count);
	free(chosen);
	free(list.places);
	return error;
}

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
