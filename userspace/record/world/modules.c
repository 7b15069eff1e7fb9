// SPDX-License-Identifier: BSD-2-Clause
/* modules.c: the files whose code ran, each identified once by its build-id. */
/*
 * The path that the kernel reports may by now lead to another file, or to none:
 * the program was replaced or deleted, or it runs in a container. A file counts
 * only if it is the inode that was mapped. It is kept open, so that its symbols
 * can be read whatever becomes of its name or of the process.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "files.h"
#include "modules.h"
#include "../../util/buffer.h"
#include "../../util/map.h"

#define GENERATION_MAX 4096 /* modules; as many from before are kept, too */

/*
 * What was not needed while so many others came is forgotten, so that a program which maps one file
 * after the other does not fill the memory: its frames of before get no names.
 */
struct generation {
	struct map *by_place; /* path, zero, device, inode: to the id */
	struct map *by_id;    /* to struct module * */
};

struct modules {
	struct profile_writer *writer;
	struct files *files;
	struct generation now, before;
};

static int generation_create(struct generation *generation)
{
	generation->by_place = map_create(MAP_STRING_KEYS);
	generation->by_id = map_create(sizeof(uint64_t));
	return generation->by_place && generation->by_id ? 0 : -ENOMEM;
}

static void module_free(struct module *module)
{
	if (!module)
		return;
	free((char *)module->path);
	free(module);
}

static void generation_free(struct generation *generation)
{
	size_t cursor = 0;
	const void *key;
	uint64_t *value;

	while (generation->by_id && map_next(generation->by_id, &cursor, &key, &value))
		module_free((struct module *)(uintptr_t)*value);
	map_free(generation->by_place);
	map_free(generation->by_id);
	*generation = (struct generation){0};
}

int modules_create(struct profile_writer *writer, struct files *files, struct modules **out)
{
	struct modules *modules = calloc(1, sizeof(*modules));

	if (!modules)
		return -ENOMEM;
	modules->writer = writer;
	modules->files = files;
	if (generation_create(&modules->now) || generation_create(&modules->before)) {
		modules_free(modules);
		return -ENOMEM;
	}
	*out = modules;
	return 0;
}

void modules_free(struct modules *modules)
{
	if (!modules)
		return;
	generation_free(&modules->now);
	generation_free(&modules->before);
	free(modules);
}

/* If the present generation is full it becomes that of before. */
static int make_room(struct modules *modules)
{
	struct generation fresh;

	if (map_count(modules->now.by_id) < GENERATION_MAX &&
	    map_count(modules->now.by_place) < GENERATION_MAX)
		return 0;
	if (generation_create(&fresh)) {
		generation_free(&fresh);
		return -ENOMEM;
	}
	generation_free(&modules->before);
	modules->before = modules->now;
	modules->now = fresh;
	return 0;
}

static struct module *create(struct modules *modules, const struct module_place *place)
{
	struct module *module = calloc(1, sizeof(*module));
	const struct file *file = NULL;

	if (!module)
		return NULL;
	module->path = strdup(place->path);
	if (!module->path) {
		module_free(module);
		return NULL;
	}
	module->major = place->major;
	module->minor = place->minor;
	module->inode = place->inode;
	if (place->inode)
		file = files_find(modules->files, place->major, place->minor, place->inode);
	module->is_lost = place->inode && (!file || file->fd < 0);
	if (!file || file->state != FILE_KNOWN || file->facts.build_id_size < 0)
		return module;
	module->is_program = true;
	module->build_id_size = (size_t)file->facts.build_id_size;
	memcpy(module->build_id, file->facts.build_id, module->build_id_size);
	return module;
}

/* Takes over the module, which has this id. */
static uint64_t put(struct modules *modules, struct module *module, uint64_t id)
{
	uint64_t *slot = id && !make_room(modules) ? map_put(modules->now.by_id, &id, NULL) : NULL;

	if (slot && !*slot) {
		*slot = (uintptr_t)module;
		return id;
	}
	module_free(module);
	return slot ? id : 0;
}

static uint64_t add(struct modules *modules, const struct module_place *place)
{
	struct module *module = create(modules, place);

	if (!module)
		return 0;
	return put(modules, module,
		   profile_writer_module(modules->writer, place->path, module->build_id,
					 module->build_id_size));
}

uint64_t modules_generated(struct modules *modules, uint64_t process)
{
	uint64_t id = profile_writer_generated(modules->writer, process);
	struct module *module;

	if (!id || modules_get(modules, id))
		return id;
	module = calloc(1, sizeof(*module));
	if (!module)
		return 0;
	module->process = process;
	return put(modules, module, id);
}

/* The id of a place, which moves to the present generation. */
static uint64_t find(struct modules *modules, const struct buffer *key,
		     const struct module_place *place)
{
	const uint64_t *known = map_get_string(modules->now.by_place, key->data, key->size);
	uint64_t id, *slot;

	if (known)
		return *known;
	known = map_get_string(modules->before.by_place, key->data, key->size);
	id = known && modules_get(modules, *known) ? *known : add(modules, place);
	slot = id ? map_put_string(modules->now.by_place, key->data, key->size, NULL) : NULL;
	if (slot)
		*slot = id;
	return id;
}

uint64_t modules_find(struct modules *modules, const struct module_place *place)
{
	uint64_t identity[2] = {(uint64_t)place->major << 32 | place->minor, place->inode};
	struct buffer key = {0};
	uint64_t id = 0;

	if (!buffer_append(&key, place->path, strlen(place->path) + 1) &&
	    !buffer_append(&key, identity, sizeof(identity)))
		id = find(modules, &key, place);
	buffer_free(&key);
	return id;
}

const struct module *modules_get(struct modules *modules, uint64_t id)
{
	const uint64_t *slot = map_get(modules->now.by_id, &id);
	uint64_t *moved;
	struct module *module;

	if (slot)
		return (const struct module *)(uintptr_t)*slot;
	slot = map_get(modules->before.by_id, &id);
	if (!slot)
		return NULL;
	module = (struct module *)(uintptr_t)*slot;
	moved = map_put(modules->now.by_id, &id, NULL);
	if (moved) {
		*moved = (uintptr_t)module;
		map_remove(modules->before.by_id, &id);
	}
	return module;
}

const struct file *modules_file(struct modules *modules, const struct module *module)
{
	return module->inode
		       ? files_find(modules->files, module->major, module->minor, module->inode)
		       : NULL;
}

struct files *modules_files(struct modules *modules)
{
	return modules->files;
}
