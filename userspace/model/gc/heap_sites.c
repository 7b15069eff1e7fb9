/* SPDX-License-Identifier: BSD-2-Clause */
/* heap_sites.c: live objects, from the runtimes' own heap profiles. */
/*
 * The recorder reads a process's heap profile at most twice. The last one shows what is alive. If
 * there are two, the first one shows what was alive when the recorder attached.
 */
#include "heap_sites.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../world/arena.h"
#include "../world/world.h"

#define SITES_MAX (1 << 20)

void heap_sites_free(struct heap_sites *sites)
{
	free(sites->items);
}

int heap_sites_record(struct heap_sites *sites, const struct world *world,
		      const struct record_heap_site *record)
{
	if (!tasks_find_process(&world->tasks, record->process) || sites->count >= SITES_MAX ||
	    (record->stack && !tree_node(&world->tree, record->stack)))
		return -EBADMSG;
	if (array_reserve(&sites->items, &sites->capacity, sites->count, sizeof(*sites->items)) < 0)
		return -ENOMEM;
	sites->items[sites->count++] = (struct heap_site){
		.process = record->process,
		.time = record->time,
		.stack = (uint32_t)record->stack,
		.live = heap_estimate(record->objects, record->bytes, record->rate),
	};
	return 0;
}

/* By process; the last profile first. */
static int by_profile(const void *a, const void *b)
{
	const struct heap_site *x = a, *y = b;

	if (x->process != y->process)
		return x->process < y->process ? -1 : 1;
	return x->time < y->time ? 1 : x->time > y->time ? -1 : 0;
}

/* Row of the innermost function plus 1; 0: none. */
static uint32_t function_of(const struct world *world, uint32_t stack)
{
	uint32_t shown = tree_shown(&world->tree, stack);
	const struct frame *frame;

	if (!shown)
		return 0;
	frame = tree_frame(&world->tree, tree_node(&world->tree, shown)->frame);
	if (!frame->n_functions)
		return 0;
	return world->functions.of_frames[frame->first_function + frame->n_functions - 1] + 1;
}

static int most_first(const void *a, const void *b)
{
	const struct model_heap_row *x = a, *y = b;

	if (x->bytes != y->bytes)
		return x->bytes < y->bytes ? 1 : -1;
	return strcmp(x->name, y->name);
}

static void add_sites(struct heap_sites *sites, struct world *world, struct model_heap_row *rows)
{
	struct model_heap *heap = &world->model->heap;
	const struct heap_site *last = NULL;

	for (size_t i = 0; i < sites->count; i++) {
		struct heap_site *site = &sites->items[i];
		struct model_heap_row *row = &rows[function_of(world, site->stack)];

		if (!last || last->process != site->process)
			last = site;
		site->is_last = site->time == last->time;
		if (site->is_last) {
			row->objects += site->live.objects;
			row->bytes += site->live.bytes;
			tally_merge(&row->live, &site->live.live);
			heap->objects += site->live.objects;
			heap->bytes += site->live.bytes;
			tally_merge(&heap->live, &site->live.live);
		} else {
			row->before_bytes += site->live.bytes;
			heap->before += site->live.bytes;
		}
	}
}

int heap_sites_finish(struct heap_sites *sites, struct world *world)
{
	const struct functions *functions = &world->functions;
	struct model_heap *heap = &world->model->heap;
	size_t count = functions->n_rows + 1, kept = 0;
	struct model_heap_row *rows;

	if (!sites->count)
		return 0;
	rows = arena_alloc(world->model->arena, count * sizeof(*rows));
	if (!rows)
		return -ENOMEM;
	memset(rows, 0, count * sizeof(*rows));
	qsort(sites->items, sites->count, sizeof(*sites->items), by_profile);
	add_sites(sites, world, rows);
	rows[0].name = "(none)";
	for (size_t i = 1; i < count; i++) {
		rows[i].name = functions->rows[i - 1].name;
		rows[i].module = functions->rows[i - 1].module;
	}
	for (size_t i = 0; i < count; i++) {
		rows[i].interval = tally_estimate(&rows[i].live);
		if (rows[i].bytes > 0 || rows[i].before_bytes > 0)
			rows[kept++] = rows[i];
	}
	qsort(rows, kept, sizeof(*rows), most_first);
	heap->known = true;
	heap->rows = rows;
	heap->n_rows = kept;
	return 0;
}

static int by_process(const void *key, const void *item)
{
	uint64_t wanted = *(const uint64_t *)key, found = ((const struct heap_site *)item)->process;

	return wanted < found ? -1 : wanted > found;
}

bool heap_sites_has(const struct heap_sites *sites, uint64_t process)
{
	return sites->count &&
	       bsearch(&process, sites->items, sites->count, sizeof(*sites->items), by_process);
}
