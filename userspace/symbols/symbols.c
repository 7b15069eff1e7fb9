// SPDX-License-Identifier: BSD-2-Clause
/* symbols.c: names for the frames of a profile. */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <libiberty/demangle.h>
#include <link.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "../util/buffer.h"
#include "../util/map.h"
#include "../util/regular.h"
#include "elf_file.h"
#include "elf_symbols.h"
#include "symbols.h"

#define MANGLED_MAX   1024
#define REFERENCE_MAX 32 /* back references per name */
/* For numbers in Rust names. */
#define DIGITS "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"

struct symbols {
	struct symbols_access access;
	struct map
		*files; /* path, zero, build-id: to struct elf_symbols *, or an errno, see below */
	struct map *names; /* mangled name (its address) to the readable one */
};

/* The value for a file: its symbols, or an invalid address with the errno why it has none. */
static int error_of(uint64_t value)
{
	return (int64_t)value < 0 ? (int)(int64_t)value : 0;
}

static struct elf_symbols *symbols_of(uint64_t value)
{
	return error_of(value) ? NULL : (struct elf_symbols *)(uintptr_t)value;
}

static int open_path(void *context, const char *path)
{
	struct stat st;

	(void)context;
	return regular_open(path, &st);
}

static int open_debug(void *context, int file, const struct debug_wanted *wanted)
{
	(void)context;
	return debug_open(file, wanted);
}

int symbols_create(const struct symbols_access *access, struct symbols **out)
{
	static const struct symbols_access by_path = {open_path, {open_debug, NULL}};
	struct symbols *symbols = calloc(1, sizeof(*symbols));

	if (!symbols)
		return -ENOMEM;
	symbols->access = access ? *access : by_path;
	symbols->files = map_create(MAP_STRING_KEYS);
	symbols->names = map_create(sizeof(uint64_t));
	if (!symbols->files || !symbols->names) {
		symbols_free(symbols);
		return -ENOMEM;
	}
	*out = symbols;
	return 0;
}

static void free_file(void *value)
{
	elf_symbols_free(symbols_of((uintptr_t)value));
}

void symbols_free(struct symbols *symbols)
{
	if (!symbols)
		return;
	map_free_all(symbols->files, free_file);
	map_free_all(symbols->names, free);
	free(symbols);
}

/* Opens the file and reads it if it has this build-id. */
static int read_file(const struct symbols_access *access, const char *path, const void *build_id,
		     size_t size, struct elf_symbols **out)
{
	unsigned char id[BUILD_ID_MAX];
	int fd = access->open(access->debug.context, path);
	int err;

	if (fd < 0)
		return -errno;
	if (size && (build_id_read(fd, id) != (int)size || memcmp(id, build_id, size)))
		err = -ESTALE;
	else
		err = elf_symbols_read(fd, &access->debug, out);
	close(fd);
	return err;
}

/* All processes share the vDSO, this one included. */
static int read_vdso(const struct symbols_access *access, struct elf_symbols **out)
{
	void *image = (void *)getauxval(AT_SYSINFO_EHDR);
	ElfW(Ehdr) header;
	size_t size;

	if (!image)
		return -ENOENT;
	/* The section headers are at its end. */
	memcpy(&header, image, sizeof(header));
	size = header.e_shoff + (size_t)header.e_shnum * header.e_shentsize;
	return elf_symbols_read_memory(image, size, &access->debug, out);
}

/* Path, zero, build-id. The caller frees it. */
static struct buffer file_key(const char *path, const void *build_id, size_t size)
{
	struct buffer key = {0};

	if (buffer_append(&key, path, strlen(path) + 1) || buffer_append(&key, build_id, size))
		buffer_free(&key);
	return key;
}

static const struct elf_symbols *find_file(struct symbols *symbols, const char *path,
					   const void *build_id, size_t size)
{
	struct buffer key = file_key(path, build_id, size);
	struct elf_symbols *file = NULL;
	uint64_t *slot = NULL;
	bool added = false;
	int err;

	if (key.size)
		slot = map_put_string(symbols->files, key.data, key.size, &added);
	buffer_free(&key);
	if (!slot || !added)
		return slot ? symbols_of(*slot) : NULL;
	if (strcmp(path, "[vdso]"))
		err = read_file(&symbols->access, path, build_id, size, &file);
	else
		err = read_vdso(&symbols->access, &file);
	*slot = err ? (uint64_t)(int64_t)err : (uintptr_t)file;
	return symbols_of(*slot);
}

int symbols_error(const struct symbols *symbols, const char *path, const void *build_id,
		  size_t build_id_size)
{
	struct buffer key = file_key(path, build_id, build_id_size);
	const uint64_t *slot = NULL;

	if (key.size)
		slot = map_get_string(symbols->files, key.data, key.size);
	buffer_free(&key);
	return slot ? error_of(*slot) : 0;
}

/* --- readable names ----------------------------------------------------------------------- */

/*
 * A mangled name may refer back to its own parts, and those again to others: each reference can
 * double the result, which could fill all memory. Counting the letters that may begin a reference
 * is crude but safe.
 */
static bool is_harmless(const char *name)
{
	bool rust = name[1] == 'R';
	size_t references = 0, size = strnlen(name, MANGLED_MAX + 1);

	for (size_t i = 0; i + 1 < size; i++) {
		const char *next = name + i + 1;

		if (rust)
			references += name[i] == 'B' && next[strspn(next, DIGITS)] == '_';
		else if (name[i] == 'S' || name[i] == 'T')
			references += *next == '_' || isdigit((unsigned char)*next) ||
				      isupper((unsigned char)*next);
	}
	return size <= MANGLED_MAX && references <= REFERENCE_MAX;
}

char *demangle(const char *name)
{
	char *readable;

	/* C++ and older Rust names; newer Rust names. */
	if ((strncmp(name, "_Z", 2) && strncmp(name, "_R", 2)) || !is_harmless(name))
		return NULL;
	readable = cplus_demangle(name, DMGL_PARAMS | DMGL_ANSI | DMGL_AUTO);
	if (readable)
		long_name_shorten(readable);
	return readable;
}

/* Where the version appended by linkers begins: read@@GLIBC_2.2.5; 0: none. */
static size_t version_place(const char *name)
{
	const char *at = strchr(name, '@');

	return at && strcmp(at, "@plt") != 0 ? (size_t)(at - name) : 0;
}

/* A readable copy of a name; NULL if it is already readable. */
static char *make_readable(const char *name)
{
	size_t version = version_place(name);
	char *bare = version ? strndup(name, version) : NULL;
	char *plain = demangle(bare ? bare : name);

	if (!plain)
		return bare;
	free(bare);
	return plain;
}

/* The readable form of a name, cached. */
static const char *readable(struct symbols *symbols, const char *name)
{
	uint64_t key = (uintptr_t)name;
	uint64_t *slot;
	bool added = false;

	if (name[0] != '_' && !version_place(name))
		return name;
	slot = map_put(symbols->names, &key, &added);
	if (!slot)
		return name;
	if (added)
		*slot = (uintptr_t)make_readable(name);
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

size_t symbols_type(struct symbols *symbols, const char *path, const void *build_id,
		    size_t build_id_size, uint64_t number, char *out, size_t size, bool *plain)
{
	const struct elf_symbols *file = find_file(symbols, path, build_id, build_id_size);

	return file ? elf_symbols_type(file, number, out, size, plain) : 0;
}
