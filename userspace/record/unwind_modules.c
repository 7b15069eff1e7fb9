// SPDX-License-Identifier: BSD-2-Clause
/* unwind_modules.c: the mapped files that have unwind rows in the kernel, each once. */
/*
 * A file is known by its device and inode, and two of them with the same
 * build-id share their rows: the same library in several containers.
 */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "clock.h"
#include "unwind_modules.h"
#include "../util/log.h"
#include "../util/map.h"

struct file_key {
	uint32_t major, minor;
	uint64_t inode;
};

struct unwind_modules {
	struct unwind_maps *maps;
	struct map *by_file;         /* struct file_key to struct unwind_module * */
	struct unwind_module *first; /* all of them */
	struct unwind_module *vdso;
	uint64_t refused;
};

int unwind_modules_create(struct unwind_maps *maps, struct unwind_modules **out)
{
	struct unwind_modules *modules = calloc(1, sizeof(*modules));

	if (!modules)
		return -ENOMEM;
	modules->maps = maps;
	modules->by_file = map_create(sizeof(struct file_key));
	if (!modules->by_file) {
		free(modules);
		return -ENOMEM;
	}
	*out = modules;
	return 0;
}

void unwind_modules_free(struct unwind_modules *modules)
{
	struct unwind_module *module, *next;

	if (!modules)
		return;
	for (module = modules->first; module; module = next) {
		next = module->next;
		free(module);
	}
	map_free(modules->by_file);
	free(modules);
}

/* Puts the rows into the kernel; if there is no room, what is unused goes first. */
static int put_rows(struct unwind_modules *modules, const struct unwind_file *file,
		    struct unwind_module *module)
{
	int err;

	if (unwind_maps_crowded(modules->maps, file))
		unwind_modules_sweep(modules, UINT64_MAX);
	err = unwind_maps_add(modules->maps, file, &module->first);
	if (err == -ENOSPC) {
		unwind_modules_sweep(modules, UINT64_MAX);
		err = unwind_maps_add(modules->maps, file, &module->first);
	}
	if (err)
		return err;
	module->count = (uint32_t)file->n_pages;
	module->base = file->base;
	module->n_segments = file->n_segments;
	memcpy(module->segments, file->segments, sizeof(module->segments));
	return 0;
}

/* Takes over the rows that were read since `began`, NULL if `err` says why there are none; a module
 * without rows is one, too. */
static struct unwind_module *add(struct unwind_modules *modules, int err, struct unwind_file *file,
				 const char *path, uint64_t began)
{
	struct unwind_module *module = calloc(1, sizeof(*module));

	if (module && !err)
		err = put_rows(modules, file, module);
	if (err)
		modules->refused++;
	if (err)
		log_verbose("%s: no unwind rows: %s", path, strerror(-err));
	else if (module)
		log_verbose("%s: %zu unwind rows of %zu functions (%zu KiB, %.1f ms)", path,
			    file->n_rows, file->functions, file->n_rows * sizeof(unwind_row) / 1024,
			    (double)(clock_now() - began) / 1e6);
	unwind_free(file);
	if (!module)
		return NULL;
	module->unused = clock_now();
	module->next = modules->first;
	modules->first = module;
	return module;
}

static struct unwind_module *find_build_id(const struct unwind_modules *modules,
					   const unsigned char *id, size_t size)
{
	struct unwind_module *module = size ? modules->first : NULL;

	while (module && (module->build_id_size != size || memcmp(module->build_id, id, size)))
		module = module->next;
	return module;
}

static struct unwind_module *add_file(struct unwind_modules *modules, int fd, const char *path)
{
	unsigned char id[BUILD_ID_MAX] = {0};
	struct unwind_file *file = NULL;
	struct unwind_module *module;
	uint64_t began = clock_now();
	int size = build_id_read(fd, id), err;

	if (size < 0)
		size = 0;
	module = find_build_id(modules, id, (size_t)size);
	if (module)
		return module;
	err = unwind_read(fd, &file);
	module = add(modules, err, file, path, began);
	if (!module)
		return NULL;
	memcpy(module->build_id, id, sizeof(id));
	module->build_id_size = (size_t)size;
	return module;
}

/* All processes share the kernel's page of code, this one included. */
static struct unwind_module *find_vdso(struct unwind_modules *modules)
{
	void *image = (void *)getauxval(AT_SYSINFO_EHDR);
	struct unwind_file *file = NULL;
	uint64_t began = clock_now();
	ElfW(Ehdr) header;
	int err;

	if (modules->vdso || !image)
		return modules->vdso;
	/* The section headers stand last in it. */
	memcpy(&header, image, sizeof(header));
	err = unwind_read_memory(
		image, header.e_shoff + (size_t)header.e_shnum * header.e_shentsize, &file);
	modules->vdso = add(modules, err, file, "[vdso]", began);
	if (modules->vdso)
		unwind_module_hold(modules->vdso);
	return modules->vdso;
}

struct unwind_module *unwind_modules_find(struct unwind_modules *modules,
					  const struct module_place *place)
{
	struct file_key key = {place->major, place->minor, place->inode};
	struct unwind_module *module;
	uint64_t *slot;
	int fd;

	if (!place->inode)
		return strcmp(place->path, "[vdso]") ? NULL : find_vdso(modules);
	slot = map_get(modules->by_file, &key);
	if (slot)
		return (struct unwind_module *)(uintptr_t)*slot;
	fd = module_open(place);
	if (fd < 0)
		return NULL;
	module = add_file(modules, fd, place->path);
	close(fd);
	/* Only now: to make room for it, other files may have been forgotten. */
	slot = module ? map_put(modules->by_file, &key, NULL) : NULL;
	if (!slot)
		return NULL;
	*slot = (uintptr_t)module;
	return module;
}

void unwind_modules_expect(struct unwind_modules *modules, const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct stat st;

	if (fd < 0)
		return;
	if (!fstat(fd, &st) && S_ISREG(st.st_mode))
		add_file(modules, fd, path);
	close(fd);
}

void unwind_module_hold(struct unwind_module *module)
{
	module->references++;
}

void unwind_module_release(struct unwind_module *module, uint64_t now)
{
	if (--module->references == 0)
		module->unused = now;
}

/* Files lead to modules: those that lead to this one do so no more. */
static void forget_files(struct unwind_modules *modules, const struct unwind_module *module)
{
	size_t cursor = 0;
	const void *key;
	uint64_t *value;

	while (map_next(modules->by_file, &cursor, &key, &value)) {
		struct file_key copy;

		if (*value != (uintptr_t)module)
			continue;
		memcpy(&copy, key, sizeof(copy));
		map_remove(modules->by_file, &copy);
		cursor = 0;
	}
}

void unwind_modules_sweep(struct unwind_modules *modules, uint64_t before)
{
	struct unwind_module **place = &modules->first, *module;

	while ((module = *place)) {
		if (module->references || module->unused >= before) {
			place = &module->next;
			continue;
		}
		*place = module->next;
		forget_files(modules, module);
		unwind_maps_remove(modules->maps, module->first, module->count);
		free(module);
	}
}

uint64_t unwind_modules_refused(const struct unwind_modules *modules)
{
	return modules->refused;
}
