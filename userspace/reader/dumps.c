/* SPDX-License-Identifier: BSD-2-Clause */
/* dumps.c: answers READ_STACK: unwinds stack dumps by libunwind. */
#include "reader.h"

#include <errno.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "../util/array.h"
#include "../util/map.h"

#define IMAGES_MAX 256 /* open files at a time */

struct dumps {
	struct stack_unwinder *unwinder;
	struct dump_request process;         /* the process of `mappings` */
	ARRAY(struct dump_mapping) mappings; /* unmapped ranges included */
	struct map *images;                  /* file to struct frame_image *; 0: none */
	struct stack_walk walk;
};

static struct frame_image *image_of(uint64_t value)
{
	return (struct frame_image *)(uintptr_t)value;
}

static void free_image(void *image)
{
	frame_image_free(image);
}

static void forget_images(struct dumps *dumps)
{
	stack_unwinder_forget(dumps->unwinder);
	map_free_all(dumps->images, free_image);
	dumps->images = map_create(sizeof(uint64_t));
	if (!dumps->images)
		_exit(EXIT_FAILURE);
}

/* All processes share the vDSO, this one included. */
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

/* Takes over `fd`. */
static struct frame_image *find_image(struct dumps *dumps, const struct dump_mapping *mapping,
				      int fd)
{
	struct frame_image *image = NULL;
	uint64_t *slot;
	bool added = false;

	if (map_count(dumps->images) >= IMAGES_MAX)
		forget_images(dumps);
	slot = map_put(dumps->images, &mapping->file, &added);
	if (slot && added && mapping->is_vdso)
		(void)open_vdso(&image);
	else if (slot && added && fd >= 0 && !frame_image_open(fd, &image))
		fd = -1;
	else if (slot && added)
		fd = -1; /* closed by frame_image_open(), or there was none */
	if (fd >= 0)
		close(fd);
	if (slot && added)
		*slot = (uintptr_t)image;
	return slot ? image_of(*slot) : NULL;
}

/* The mapping at an address: cached, or asked for. */
static const struct dump_mapping *find_mapping(struct dumps *dumps, uint64_t ip)
{
	const struct dump_mapping *all = dumps->mappings.all;
	size_t count = array_count(&dumps->mappings);
	struct dump_mapping mapping;
	int fd;

	for (size_t i = 0; i < count; i++)
		if (ip >= all[i].start && ip < all[i].end)
			return &all[i];
	fd = wire_ask(&ip, sizeof(ip), &mapping, sizeof(mapping));
	if (mapping.start >= mapping.end) {
		mapping = (struct dump_mapping){.start = ip, .end = ip + 1};
		if (fd >= 0)
			close(fd);
	} else {
		find_image(dumps, &mapping, fd);
	}
	if (array_append(&dumps->mappings, &mapping))
		return NULL;
	return dumps->mappings.all + count;
}

static bool find_module(void *context, uint64_t ip, struct stack_module *out)
{
	struct dumps *dumps = context;
	const struct dump_mapping *mapping = find_mapping(dumps, ip);
	const uint64_t *slot = mapping ? map_get(dumps->images, &mapping->file) : NULL;
	struct frame_image *image = slot && mapping->file ? image_of(*slot) : NULL;
	uint64_t address;

	if (!image || !frame_image_address(image, mapping->offset, &address))
		return false;
	*out = (struct stack_module){mapping->start, mapping->end, mapping->start - address, image};
	return true;
}

static int dumps_create(struct dumps **out)
{
	struct dumps *dumps = calloc(1, sizeof(*dumps));

	if (!dumps)
		return -ENOMEM;
	dumps->images = map_create(sizeof(uint64_t));
	if (!dumps->images || stack_unwinder_create(find_module, dumps, &dumps->unwinder)) {
		map_free(dumps->images);
		free(dumps);
		return -ENOMEM;
	}
	*out = dumps;
	return 0;
}

int dumps_answer(const struct request *request)
{
	static struct dumps *dumps; /* allocated on use: most readers walk no stacks */
	const size_t head = sizeof(struct dump_request) + sizeof(struct event_copy);
	struct dump_request process;
	struct event_copy copy;

	if (!dumps && dumps_create(&dumps))
		return -ENOMEM;
	if (request->head.size < head)
		return -EBADMSG;
	memcpy(&process, request->data, sizeof(process));
	memcpy(&copy, request->data + sizeof(process), sizeof(copy));
	if (copy.size != request->head.size - head)
		return -EBADMSG;
	if (memcmp(&process, &dumps->process, sizeof(process)) != 0) {
		stack_unwinder_forget(dumps->unwinder);
		dumps->mappings.buffer.size = 0;
		dumps->process = process;
	}
	stack_unwinder_walk(dumps->unwinder, &copy, request->data + head, &dumps->walk);
	wire_put(&dumps->walk, sizeof(dumps->walk));
	return 0;
}
