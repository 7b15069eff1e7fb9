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
	if (!elf_symbols_read(fd, fd, &symbols)) {
		for (uint64_t offset = 0; offset <= size; offset += size / 64 + 1) {
			struct symbol found[SYMBOLS_MAX];
			size_t n = elf_symbols_find(symbols, offset, found);

			if (n > SYMBOLS_MAX)
				abort();
			for (size_t i = 0; i < n; i++) {
				if (found[i].name)
					free(demangle(found[i].name));
				if (found[i].file && strlen(found[i].file) > UINT32_MAX)
					abort();
			}
		}
	}
	elf_symbols_free(symbols);
	close(fd);
	return 0;
}
