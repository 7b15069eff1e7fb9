/* SPDX-License-Identifier: BSD-2-Clause */
/* live_objects.c: sampled objects whose end their runtime reports by address. */
#include "live_objects.h"

#include <errno.h>
#include <stdlib.h>

#include "../../util/map.h"
#include "../../util/process_quota.h"

struct object_key {
	uint64_t process, address;
};

struct heap_key {
	uint64_t process, heap;
};

/* Collections may be frequent, and most objects old: only the young ones are looked at. */
struct object {
	struct live_object live;       /* its `cycles`: those ended before it was allocated */
	struct object *next, **before; /* of the heap's young ones; `before` NULL: it is none */
};

struct heap {
	uint64_t cycles;      /* that ended */
	struct object *young; /* that have survived none */
};

struct live_objects {
	struct map *objects; /* struct object_key to struct object * */
	struct map *heaps;   /* struct heap_key to struct heap * */
	struct process_quota room;
};

struct live_objects *live_objects_create(void)
{
	struct live_objects *objects = calloc(1, sizeof(*objects));

	if (!objects)
		return NULL;
	objects->objects = map_create(sizeof(struct object_key));
	objects->heaps = map_create(sizeof(struct heap_key));
	if (objects->objects && objects->heaps &&
	    !process_quota_init(&objects->room, LIVE_OBJECTS_MAX))
		return objects;
	live_objects_free(objects);
	return NULL;
}

void live_objects_free(struct live_objects *objects)
{
	if (!objects)
		return;
	map_free_all(objects->objects, free);
	map_free_all(objects->heaps, free);
	process_quota_free(&objects->room);
	free(objects);
}

/* NULL: it has had no objects. */
static struct heap *find_heap(const struct live_objects *objects, uint64_t process, uint64_t heap)
{
	const struct heap_key key = {process, heap};
	const uint64_t *value = map_get(objects->heaps, &key);

	return value ? (struct heap *)(uintptr_t)*value : NULL;
}

/* Heaps are addresses that the program reports, so their number is bounded as well. */
static int add_heap(struct live_objects *objects, uint64_t process, uint32_t user, uint64_t number,
		    struct heap **out)
{
	const struct heap_key key = {process, number};
	uint64_t *value;

	*out = find_heap(objects, process, number);
	if (*out)
		return 0;
	if (!process_quota_take(&objects->room, process, user))
		return -ENOSPC;
	*out = calloc(1, sizeof(**out));
	value = *out ? map_put(objects->heaps, &key, NULL) : NULL;
	if (!value) {
		free(*out);
		process_quota_return(&objects->room, process, 1);
		return -ENOMEM;
	}
	*value = (uint64_t)(uintptr_t)*out;
	return 0;
}

static void be_young(struct heap *heap, struct object *object)
{
	object->next = heap->young;
	object->before = &heap->young;
	if (object->next)
		object->next->before = &object->next;
	heap->young = object;
}

static void be_old(struct object *object)
{
	if (!object->before)
		return;
	*object->before = object->next;
	if (object->next)
		object->next->before = object->before;
	object->before = NULL;
}

int live_objects_add(struct live_objects *objects, uint64_t process, uint32_t user,
		     uint64_t address, const struct live_object *added)
{
	const struct object_key key = {process, address};
	uint64_t *value = map_get(objects->objects, &key);
	struct object *object;
	struct heap *heap;
	int err = add_heap(objects, process, user, added->heap, &heap);

	if (err)
		return err;
	if (!value && !process_quota_take(&objects->room, process, user))
		return -ENOSPC;
	if (!value)
		value = map_put(objects->objects, &key, NULL);
	if (value && !*value)
		*value = (uint64_t)(uintptr_t)calloc(1, sizeof(*object));
	if (!value || !*value)
		return -ENOMEM;
	object = (struct object *)(uintptr_t)*value;
	be_old(object);
	object->live = (struct live_object){.sample = added->sample,
					    .heap = added->heap,
					    .time = added->time,
					    .cycles = heap->cycles};
	be_young(heap, object);
	return 0;
}

bool live_objects_take(struct live_objects *objects, uint64_t process, uint64_t address,
		       struct live_object *out)
{
	const struct object_key key = {process, address};
	uint64_t *value = map_get(objects->objects, &key);
	struct object *object = value ? (struct object *)(uintptr_t)*value : NULL;
	const struct heap *heap = object ? find_heap(objects, process, object->live.heap) : NULL;

	if (!value)
		return false;
	if (object) {
		*out = object->live;
		out->cycles = heap ? heap->cycles - object->live.cycles : 0;
		be_old(object);
	}
	free(object);
	map_remove(objects->objects, &key);
	process_quota_return(&objects->room, process, 1);
	return object != NULL;
}

void live_objects_cycle(struct live_objects *objects, uint64_t process, uint64_t heap,
			uint64_t began, live_object_visit *outlasted, void *context)
{
	struct heap *of = find_heap(objects, process, heap);
	struct object *next;

	if (!of)
		return;
	for (struct object *object = of->young; object; object = next) {
		struct live_object *live = &object->live;

		next = object->next;
		if (live->cycles == of->cycles && live->time >= began)
			live->cycles++;
		if (live->cycles >= of->cycles)
			continue;
		live->outlasted = true;
		be_old(object);
		outlasted(context, live);
	}
	of->cycles++;
}

/* Objects and heaps that end. */
struct end {
	uint64_t process, heap;
	bool all;                 /* of the process */
	bool found;               /* a heap */
	uint64_t cycles;          /* of the last one found */
	live_object_visit *ended; /* NULL: they end unreported */
	void *context;
};

static bool stays(const struct end *end, uint64_t process, uint64_t heap)
{
	return process != end->process || (!end->all && heap != end->heap);
}

static bool object_stays(void *context, const void *key, uint64_t *value)
{
	struct object *object = (struct object *)(uintptr_t)*value;
	const struct end *end = context;

	if (stays(end, ((const struct object_key *)key)->process, object ? object->live.heap : 0))
		return true;
	if (object && end->ended) {
		/* It has survived all of them, as if another one ended it. */
		object->live.cycles = end->cycles - object->live.cycles + 1;
		object->live.outlasted = object->live.cycles > 1;
		end->ended(end->context, &object->live);
	}
	free(object);
	return false;
}

static bool heap_stays(void *context, const void *key, uint64_t *value)
{
	const struct heap_key *heap = key;
	struct end *end = context;

	if (stays(end, heap->process, heap->heap))
		return true;
	end->cycles = *value ? ((const struct heap *)(uintptr_t)*value)->cycles : 0;
	end->found = true;
	free((void *)(uintptr_t)*value);
	return false;
}

/* Those that end take no other's place in a list of young ones: they end with their heap. */
static void finish(struct live_objects *objects, struct end *end)
{
	size_t before = map_count(objects->heaps) + map_count(objects->objects);

	map_filter(objects->heaps, heap_stays, end);
	if (end->found)
		map_filter(objects->objects, object_stays, end);
	process_quota_return(&objects->room, end->process,
			     before - map_count(objects->heaps) - map_count(objects->objects));
}

void live_objects_heap_end(struct live_objects *objects, uint64_t process, uint64_t heap,
			   live_object_visit *ended, void *context)
{
	struct end end = {.process = process, .heap = heap, .ended = ended, .context = context};

	finish(objects, &end);
}

void live_objects_forget(struct live_objects *objects, uint64_t process)
{
	struct end end = {.process = process, .all = true};

	finish(objects, &end);
}
