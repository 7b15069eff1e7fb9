/* SPDX-License-Identifier: BSD-2-Clause */
/* live_objects.c: sampled objects whose end their runtime reports by address. */
#include "live_objects.h"

#include <errno.h>
#include <stdlib.h>

#include "../../util/map.h"

struct object_key {
	uint64_t process, address;
};

struct live_objects {
	struct map *objects; /* struct object_key to struct live_object *; its `cycles`: those ended
				before it was allocated */
	struct map *cycles;  /* process to its number of ended cycles */
};

struct live_objects *live_objects_create(void)
{
	struct live_objects *objects = calloc(1, sizeof(*objects));

	if (!objects)
		return NULL;
	objects->objects = map_create(sizeof(struct object_key));
	objects->cycles = map_create(sizeof(uint64_t));
	if (objects->objects && objects->cycles)
		return objects;
	live_objects_free(objects);
	return NULL;
}

void live_objects_free(struct live_objects *objects)
{
	if (!objects)
		return;
	map_free_all(objects->objects, free);
	map_free(objects->cycles);
	free(objects);
}

/* NULL: no memory. */
static uint64_t *cycles_of(const struct live_objects *objects, uint64_t process)
{
	return map_put(objects->cycles, &process, NULL);
}

int live_objects_add(struct live_objects *objects, uint64_t process, uint64_t address,
		     uint64_t sample, uint64_t time)
{
	const struct object_key key = {process, address};
	uint64_t *value = map_get(objects->objects, &key), *cycles;
	struct live_object *object;

	if (!value && map_count(objects->objects) >= LIVE_OBJECTS_MAX)
		return -ENOSPC;
	if (!value)
		value = map_put(objects->objects, &key, NULL);
	if (value && !*value)
		*value = (uint64_t)(uintptr_t)malloc(sizeof(*object));
	cycles = cycles_of(objects, process);
	if (!value || !*value || !cycles)
		return -ENOMEM;
	object = (struct live_object *)(uintptr_t)*value;
	*object = (struct live_object){.sample = sample, .cycles = *cycles, .time = time};
	return 0;
}

bool live_objects_take(struct live_objects *objects, uint64_t process, uint64_t address,
		       struct live_object *out)
{
	const struct object_key key = {process, address};
	uint64_t *value = map_get(objects->objects, &key);
	struct live_object *object = value ? (struct live_object *)(uintptr_t)*value : NULL;
	const uint64_t *cycles = cycles_of(objects, process);

	if (!value)
		return false;
	if (object) {
		*out = *object;
		out->cycles = cycles ? *cycles - object->cycles : 0;
	}
	free(object);
	map_remove(objects->objects, &key);
	return object != NULL;
}

struct cycle_end {
	uint64_t process, cycles, began;
	live_object_outlasted *outlasted;
	void *context;
};

static bool outlasts(void *context, const void *key, uint64_t *value)
{
	struct live_object *object = (struct live_object *)(uintptr_t)*value;
	const struct cycle_end *end = context;

	if (((const struct object_key *)key)->process != end->process || !object ||
	    object->outlasted)
		return true;
	if (object->cycles == end->cycles && object->time >= end->began)
		object->cycles++;
	if (object->cycles >= end->cycles)
		return true;
	object->outlasted = true;
	end->outlasted(end->context, object->sample);
	return true;
}

void live_objects_cycle(struct live_objects *objects, uint64_t process, uint64_t began,
			live_object_outlasted *outlasted, void *context)
{
	uint64_t *cycles = cycles_of(objects, process);
	struct cycle_end end = {
		.process = process, .began = began, .outlasted = outlasted, .context = context};

	if (!cycles)
		return;
	end.cycles = *cycles;
	map_filter(objects->objects, outlasts, &end);
	++*cycles;
}

static bool is_other(void *context, const void *key, uint64_t *value)
{
	if (((const struct object_key *)key)->process != *(const uint64_t *)context)
		return true;
	free((void *)(uintptr_t)*value);
	return false;
}

void live_objects_forget(struct live_objects *objects, uint64_t process)
{
	if (map_remove(objects->cycles, &process) && map_count(objects->objects))
		map_filter(objects->objects, is_other, &process);
}
