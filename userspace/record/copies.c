// SPDX-License-Identifier: BSD-2-Clause
/* copies.c: walks copies of stacks that the kernel side took, with the files that were mapped. */
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "copies.h"
#include "files.h"
#include "../util/log.h"
#include "../util/map.h"

#define IMAGES_MAX 256 /* files open at a time */

struct copies {
	struct modules *modules;
	struct stack_unwinder *unwinder;
	struct map *images;            /* module id to struct frame_image *, 0: none */
	const struct process *process; /* whose stack is walked */
	uint64_t id, changes;          /* of that process, when it was */
	struct stack_walk walk;
};

static void images_free(struct copies *copies)
{
	size_t cursor = 0;
	const void *key;
	uint64_t *value;

	while (copies->images && map_next(copies->images, &cursor, &key, &value))
		frame_image_free((struct frame_image *)(uintptr_t)*value);
	map_free(copies->images);
	copies->images = NULL;
}

/* All processes share the kernel's page of code, this one included. */
static int open_vdso(struct frame_image **out)
{
	const void *data = (const void *)getauxval(AT_SYSINFO_EHDR);
	ElfW(Ehdr) header;

	if (!data)
		return -ENOENT;
	memcpy(&header, data, sizeof(header));
	return frame_image_open_memory(
		data, header.e_shoff + (size_t)header.e_shnum * header.e_shentsize, out);
}

static int open_image(struct modules *modules, const struct module *module,
		      struct frame_image **out)
{
	const struct file *file = modules_file(modules, module);
	int fd;

	if (module->process) /* generated code: in no file */
		return -ENOENT;
	if (!strcmp(module->path, "[vdso]"))
		return open_vdso(out);
	fd = file && file->fd >= 0 ? fcntl(file->fd, F_DUPFD_CLOEXEC, 0) : -1;
	return fd < 0 ? -ESTALE : frame_image_open(fd, out);
}

static struct frame_image *find_image(struct copies *copies, uint64_t id)
{
	const struct module *module = modules_get(copies->modules, id);
	struct frame_image *image = NULL;
	uint64_t *slot;
	bool added;
	int err;

	if (copies->images && map_count(copies->images) >= IMAGES_MAX) {
		stack_unwinder_forget(copies->unwinder);
		images_free(copies);
	}
	if (!copies->images)
		copies->images = map_create(sizeof(uint64_t));
	slot = copies->images && module ? map_put(copies->images, &id, &added) : NULL;
	if (!slot)
		return NULL;
	if (added) {
		err = open_image(copies->modules, module, &image);
		if (err && !module->process)
			log_verbose("%s: stacks cannot be walked by its frame information: %s",
				    module->path, strerror(-err));
		*slot = (uintptr_t)image;
	}
	return (struct frame_image *)(uintptr_t)*slot;
}

static bool find_module(void *context, uint64_t ip, struct stack_module *out)
{
	struct copies *copies = context;
	const struct mapping *mapping = mappings_find(copies->process->mappings, ip);
	struct frame_image *image = mapping ? find_image(copies, mapping->module) : NULL;
	uint64_t address;

	if (!image || !frame_image_address(image, mapping->offset, &address))
		return false;
	*out = (struct stack_module){mapping->start, mapping->end, mapping->start - address, image};
	return true;
}

int copies_create(struct modules *modules, struct copies **out)
{
	struct copies *copies = calloc(1, sizeof(*copies));
	int err = -ENOMEM;

	if (!copies)
		return err;
	copies->modules = modules;
	err = stack_unwinder_create(find_module, copies, &copies->unwinder);
	if (err) {
		free(copies);
		return err;
	}
	*out = copies;
	return 0;
}

void copies_free(struct copies *copies)
{
	if (!copies)
		return;
	stack_unwinder_free(copies->unwinder);
	images_free(copies);
	free(copies);
}

const struct stack_walk *copies_walk(struct copies *copies, const struct process *process,
				     const struct event_copy *copy, const void *bytes)
{
	if (copies->id != process->id || copies->changes != process->changes)
		stack_unwinder_forget(copies->unwinder);
	copies->process = process;
	copies->id = process->id;
	copies->changes = process->changes;
	stack_unwinder_walk(copies->unwinder, copy, bytes, &copies->walk);
	return &copies->walk;
}
