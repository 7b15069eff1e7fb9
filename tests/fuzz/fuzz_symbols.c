// SPDX-License-Identifier: BSD-2-Clause
/* fuzz_symbols.c: ELF files from anywhere: build-id, symbol table, lines, readable names. */
/*
 * An input that begins with PAIR, and the size of the first in four bytes, is two
 * files: the second is called "shared" and lies beside the first, where that may
 * name it as what dwz moved out of it.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "symbols/elf_file.h"
#include "symbols/elf_symbols.h"
#include "symbols/symbols.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char path[] = "/dev/shm/fuzz-symbols-XXXXXX";
static int folder = -1;

static void remove_folder(void)
{
	unlinkat(folder, "shared", 0);
	unlinkat(folder, "file", 0);
	rmdir(path);
}

static void make_folder(void)
{
	folder = mkdtemp(path) ? open(path, O_DIRECTORY | O_CLOEXEC) : -1;
	if (folder < 0)
		abort();
	atexit(remove_folder);
}

static int put_file(const char *name, const uint8_t *data, size_t size)
{
	int fd = openat(folder, name, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	if (fd < 0 || write(fd, data, size) != (ssize_t)size)
		abort();
	return fd;
}

static void look(const struct elf_symbols *symbols, size_t size)
{
	for (uint64_t offset = 0; offset <= size; offset += size / 64 + 1) {
		struct symbol found[SYMBOLS_MAX];
		char type[64];
		bool plain;
		size_t n = elf_symbols_find(symbols, offset, found);

		if (n > SYMBOLS_MAX)
			abort();
		(void)elf_symbols_type(symbols, offset, type, sizeof(type), &plain);
		for (size_t i = 0; i < n; i++) {
			if (found[i].name)
				free(demangle(found[i].name));
			if (found[i].file && strlen(found[i].file) > UINT32_MAX)
				abort();
		}
	}
}

static int open_debug(void *context, int file, const struct debug_wanted *wanted)
{
	(void)context;
	return debug_open(file, wanted);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct debug_access access = {open_debug, NULL};
	unsigned char id[BUILD_ID_MAX];
	struct elf_symbols *symbols = NULL;
	uint32_t first = (uint32_t)size;
	int fd;

	if (folder < 0)
		make_folder();
	if (size > 8 && !memcmp(data, "PAIR", 4)) {
		memcpy(&first, data + 4, sizeof(first));
		data += 8;
		size -= 8;
		first = first < size ? first : (uint32_t)size;
	}
	close(put_file("shared", data + first, size - first));
	fd = put_file("file", data, first);
	if (build_id_read(fd, id) > BUILD_ID_MAX)
		abort();
	if (!elf_symbols_read(fd, &access, &symbols))
		look(symbols, first);
	elf_symbols_free(symbols);
	close(fd);
	return 0;
}
