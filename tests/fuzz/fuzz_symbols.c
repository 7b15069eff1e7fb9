// SPDX-License-Identifier: BSD-2-Clause
/* fuzz_symbols.c: ELF files from anywhere: build-id, symbol table, readable names. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "symbols/demangle.h"
#include "symbols/elf_symbols.h"
#include "symbols/symbols.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	unsigned char id[BUILD_ID_MAX];
	struct elf_symbols *symbols = NULL;
	int fd = memfd_create("fuzz", MFD_CLOEXEC);

	if (fd < 0)
		abort();
	if (write(fd, data, size) != (ssize_t)size)
		abort();
	if (build_id_read(fd, id) > BUILD_ID_MAX)
		abort();
	if (!elf_symbols_read(fd, &symbols)) {
		for (uint64_t offset = 0; offset <= size; offset += size / 64 + 1) {
			uint64_t within = 0;
			const char *name = elf_symbols_find(symbols, offset, &within);

			if (name)
				free(demangle(name));
		}
	}
	elf_symbols_free(symbols);
	close(fd);
	return 0;
}
