// SPDX-License-Identifier: BSD-2-Clause
/* fuzz_unwind.c: frame information from anywhere: in ELF files, and as bare sections. */
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "symbols/unwind.h"
#include "symbols/unwind_build.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What is written into maps of the kernel must be in order, whatever the file says. */
static void check(const struct unwind_file *file)
{
	size_t rows = 0;

	for (size_t i = 0; i < file->n_pages; i++) {
		const unwind_row *page = file->rows + file->starts[i];
		uint32_t count = file->pages[i].count;

		if (!count || file->starts[i] != rows || page[0] & 0xffff)
			abort();
		for (uint32_t row = 0; row < count; row++) {
			if (page[row] >> 16 >= file->n_rules)
				abort();
			if (row && (page[row - 1] & 0xffff) > (page[row] & 0xffff))
				abort();
		}
		rows += count;
	}
	if (rows != file->n_rows)
		abort();
	for (uint64_t step = 0; step < 64; step++)
		unwind_find(file, file->base + step * 1021);
}

static void try_section(const uint8_t *data, size_t size, bool debug)
{
	struct frame_section section = {data, size, 0x400000, debug};
	struct unwind_builder *builder = unwind_builder_create();
	struct unwind_file *file = calloc(1, sizeof(*file));

	if (!builder || !file)
		abort();
	if (!unwind_builder_add(builder, &section) &&
	    !unwind_builder_finish(builder, 0x3ff123, 0x480000, file))
		check(file);
	unwind_free(file);
	unwind_builder_free(builder);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct unwind_file *file;
	int fd = memfd_create("fuzz", MFD_CLOEXEC);

	if (fd < 0 || write(fd, data, size) != (ssize_t)size)
		abort();
	if (!unwind_read(fd, &file)) {
		check(file);
		unwind_free(file);
	}
	close(fd);
	try_section(data, size, false);
	try_section(data, size, true);
	return 0;
}
