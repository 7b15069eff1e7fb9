// SPDX-License-Identifier: BSD-2-Clause
/* modules.c: the files whose code ran, each identified once by its build-id. */
/*
 * The path that the kernel tells may by now lead to another file, or to none:
 * the program was replaced or deleted, or it runs in a container. A file counts
 * only if it is the inode that was mapped. It is kept open, so that its symbols
 * can be read whatever becomes of its name or of the process.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "debug_root.h"
#include "modules.h"
#include "../util/buffer.h"
#include "../util/map.h"
#include "../util/regular.h"

#define KEPT_OPEN_MAX 512 /* of 1024 descriptors, as limits usually are */
#define PATH_BYTES    (4096 + 64)

struct modules {
	struct profile_writer *writer;
	struct map *by_place; /* path, zero, device, inode: to the id */
	struct map *by_id;    /* to struct module * */
	size_t kept_open;
};

int modules_create(struct profile_writer *writer, struct modules **out)
{
	struct modules *modules = calloc(1, sizeof(*modules));

	if (!modules)
		return -ENOMEM;
	modules->writer = writer;
	modules->by_place = map_create(MAP_STRING_KEYS);
	modules->by_id = map_create(sizeof(uint64_t));
	if (!modules->by_place || !modules->by_id) {
		modules_free(modules);
		return -ENOMEM;
	}
	*out = modules;
	return 0;
}

static void module_free(struct module *module)
{
	if (!module)
		return;
	if (module->fd >= 0)
		close(module->fd);
	if (module->debug_fd >= 0)
		close(module->debug_fd);
	free((char *)module->path);
	free(module);
}

void modules_free(struct modules *modules)
{
	size_t cursor = 0;
	const void *key;
	uint64_t *value;

	if (!modules)
		return;
	while (modules->by_id && map_next(modules->by_id, &cursor, &key, &value))
		module_free((struct module *)(uintptr_t)*value);
	map_free(modules->by_place);
	map_free(modules->by_id);
	free(modules);
}

struct module_place module_place_of(const struct event_mmap *event, const char *path)
{
	return (struct module_place){
		.path = path,
		.inode = event->inode,
		.start = event->address,
		.end = event->address + event->length,
		.major = event->major,
		.minor = event->minor,
		.pid = event->header.tid,
	};
}

/* Opens a regular file if it is the one that was mapped; -1 if not. */
static int open_same(const char *path, const struct module_place *place)
{
	struct stat st;
	int fd = regular_open(path, &st);
	bool same;

	if (fd < 0)
		return -1;
	/* File systems without a device of their own (major 0) may show another one to stat(). */
	same = st.st_ino == place->inode &&
	       (place->major == 0 ||
		(major(st.st_dev) == place->major && minor(st.st_dev) == place->minor));
	if (same)
		return fd;
	close(fd);
	return -1;
}

int module_open(const struct module_place *place)
{
	char path[PATH_BYTES];
	int fd;

	if (!place->inode)
		return -1;
	fd = open_same(place->path, place);
	if (fd >= 0)
		return fd;
	snprintf(path, sizeof(path), "/proc/%u/map_files/%llx-%llx", place->pid,
		 (unsigned long long)place->start, (unsigned long long)place->end);
	fd = open_same(path, place);
	if (fd >= 0)
		return fd;
	snprintf(path, sizeof(path), "/proc/%u/root%s", place->pid, place->path);
	return open_same(path, place);
}

/* Takes over `fd`. */
static void keep_open(struct modules *modules, struct module *module, uint32_t pid, int fd)
{
	if (modules->kept_open + 2 > KEPT_OPEN_MAX) {
		close(fd);
		return;
	}
	module->fd = fd;
	module->debug_fd = debug_root_open(pid, module->build_id, module->build_id_size);
	modules->kept_open += 1 + (module->debug_fd >= 0);
}

static struct module *create(struct modules *modules, const struct module_place *place)
{
	struct module *module = calloc(1, sizeof(*module));
	int fd, size;

	if (!module)
		return NULL;
	module->fd = module->debug_fd = -1;
	fd = module_open(place);
	if (fd >= 0) {
		size = build_id_read(fd, module->build_id);
		module->build_id_size = size > 0 ? (size_t)size : 0;
		module->is_program = size >= 0;
		keep_open(modules, module, place->pid, fd);
	}
	module->is_lost = fd < 0 && place->inode;
	module->path = strdup(place->path);
	if (!module->path) {
		module_free(module);
		return NULL;
	}
	return module;
}

/* Takes over the module, which has this id. */
static uint64_t put(struct modules *modules, struct module *module, uint64_t id)
{
	uint64_t *slot = id ? map_put(modules->by_id, &id, NULL) : NULL;

	if (slot && !*slot) {
		*slot = (uintptr_t)module;
		return id;
	}
	modules->kept_open -= (module->fd >= 0) + (module->debug_fd >= 0);
	module_free(module);
	return slot ? id : 0;
}

/* Opens the file and gives it its id. */
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

	if (!id || map_get(modules->by_id, &id))
		return id;
	module = calloc(1, sizeof(*module));
	if (!module)
		return 0;
	module->fd = module->debug_fd = -1;
	module->process = process;
	return put(modules, module, id);
}

uint64_t modules_find(struct modules *modules, const struct module_place *place)
{
	uint64_t identity[2] = {(uint64_t)place->major << 32 | place->minor, place->inode};
	struct buffer key = {0};
	uint64_t *slot = NULL, id = 0;

	if (!buffer_append(&key, place->path, strlen(place->path) + 1) &&
	    !buffer_append(&key, identity, sizeof(identity)))
		slot = map_put_string(modules->by_place, key.data, key.size, NULL);
	if (slot && !*slot)
		*slot = add(modules, place);
	if (slot)
		id = *slot;
	buffer_free(&key);
	return id;
}

const struct module *modules_get(const struct modules *modules, uint64_t id)
{
	const uint64_t *slot = map_get(modules->by_id, &id);

	return slot ? (const struct module *)(uintptr_t)*slot : NULL;
}
