// SPDX-License-Identifier: BSD-2-Clause
/* symbols.c: names for the frames of a profile. */
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "demangle.h"
#include "elf_symbols.h"
#include "kernel_symbols.h"
#include "symbols.h"
#include "../util/buffer.h"
#include "../util/map.h"

struct symbols {
	struct map *files; /* path, zero, build-id: to struct elf_symbols *, NULL if unusable */
	struct map *names; /* mangled name (its address) to the readable one */
	struct kernel_symbols *kernel;
	bool kernel_tried;
};

int symbols_create(struct symbols **out)
{
	struct symbols *symbols = calloc(1, sizeof(*symbols));

	if (!symbols)
		return -ENOMEM;
	symbols->files = map_create(MAP_STRING_KEYS);
	symbols->names = map_create(sizeof(uint64_t));
	if (!symbols->files || !symbols->names) {
		symbols_free(symbols);
		return -ENOMEM;
	}
	*out = symbols;
	return 0;
}

void symbols_free(struct symbols *symbols)
{
	size_t cursor = 0;
	const void *key;
	uint64_t *value;

	if (!symbols)
		return;
	while (symbols->files && map_next(symbols->files, &cursor, &key, &value))
		elf_symbols_free((struct elf_symbols *)(uintptr_t)*value);
	cursor = 0;
	while (symbols->names && map_next(symbols->names, &cursor, &key, &value))
		free((char *)(uintptr_t)*value);
	map_free(symbols->files);
	map_free(symbols->names);
	kernel_symbols_free(symbols->kernel);
	free(symbols);
}

/* Opens the file and reads it if it is the one with this build-id. */
static struct elf_symbols *read_file(const char *path, const void *build_id, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct elf_symbols *file = NULL;
	unsigned char id[BUILD_ID_MAX];

	if (fd < 0)
		return NULL;
	if (!size || (build_id_read(fd, id) == (int)size && !memcmp(id, build_id, size))) {
		if (elf_symbols_read(fd, &file))
			file = NULL;
	}
	close(fd);
	return file;
}

/* All processes share the kernel's page of code, this one included. */
static struct elf_symbols *read_vdso(void)
{
	void *image = (void *)getauxval(AT_SYSINFO_EHDR);
	struct elf_symbols *file = NULL;
	ElfW(Ehdr) header;
	size_t size;

	if (!image)
		return NULL;
	/* The section headers stand last in it. */
	memcpy(&header, image, sizeof(header));
	size = header.e_shoff + (size_t)header.e_shnum * header.e_shentsize;
	if (elf_symbols_read_memory(image, size, &file))
		return NULL;
	return file;
}

static const struct elf_symbols *find_file(struct symbols *symbols, const char *path,
					   const void *build_id, size_t size)
{
	struct buffer key = {0};
	uint64_t *slot = NULL;
	bool added = false;

	if (!buffer_append(&key, path, strlen(path) + 1) && !buffer_append(&key, build_id, size))
		slot = map_put_string(symbols->files, key.data, key.size, &added);
	buffer_free(&key);
	if (!slot)
		return NULL;
	if (added && !strcmp(path, "[vdso]"))
		*slot = (uintptr_t)read_vdso();
	else if (added)
		*slot = (uintptr_t)read_file(path, build_id, size);
	return (const struct elf_symbols *)(uintptr_t)*slot;
}

/* The readable form of a name, made once. */
static const char *readable(struct symbols *symbols, const char *name)
{
	uint64_t key = (uintptr_t)name;
	uint64_t *slot;
	bool added = false;

	if (name[0] != '_')
		return name;
	slot = map_put(symbols->names, &key, &added);
	if (!slot)
		return name;
	if (added)
		*slot = (uintptr_t)demangle(name);
	return *slot ? (const char *)(uintptr_t)*slot : name;
}

size_t symbols_native(struct symbols *symbols, const char *path, const void *build_id,
		      size_t build_id_size, uint64_t offset, struct symbol out[SYMBOLS_MAX])
{
	const struct elf_symbols *file = find_file(symbols, path, build_id, build_id_size);
	size_t n = file ? elf_symbols_find(file, offset, out) : 0;

	for (size_t i = 0; i < n; i++) {
		if (out[i].name)
			out[i].name = readable(symbols, out[i].name);
		else if (i)
			out[i].name = "(unknown)";
	}
	return n;
}

struct symbol symbols_kernel(struct symbols *symbols, uint64_t address)
{
	struct symbol symbol = {0};

	if (!symbols->kernel_tried) {
		symbols->kernel_tried = true;
		if (kernel_symbols_read("/proc/kallsyms", &symbols->kernel))
			symbols->kernel = NULL;
	}
	if (symbols->kernel)
		symbol.name = kernel_symbols_find(symbols->kernel, address, &symbol.offset);
	return symbol;
}
