/* SPDX-License-Identifier: BSD-2-Clause */
/* unwind.h: unwind rows of an ELF file, compiled from its call frame information. */
/*
 * Reads files that nobody vouches for. What cannot be expressed as a rule, or
 * makes no sense, becomes a stretch without a rule; only a file that has nothing
 * usable at all is an error.
 */
#ifndef GCPROF_UNWIND_H
#define GCPROF_UNWIND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../../bpf/unwind_rows.h"

#define UNWIND_FILE_ROWS_MAX  (1u << 22)
#define UNWIND_FILE_PAGES_MAX 8192 /* 512 MiB of code */
#define UNWIND_SEGMENTS_MAX   16

/* A stretch of a file that is loaded as code. */
struct unwind_segment {
	uint64_t offset, address, size;
};

struct unwind_file {
	uint64_t base; /* address of the first page as the linker knows it, a multiple of 64 KiB */
	struct unwind_page *pages; /* `first` and `chunk` are unused: see `starts` */
	uint32_t *starts;          /* of each page, its first row */
	size_t n_pages;
	unwind_row *rows; /* with numbers of `rules` */
	size_t n_rows;
	struct unwind_rule *rules; /* the first is the empty one */
	size_t n_rules;
	struct unwind_segment segments[UNWIND_SEGMENTS_MAX];
	size_t n_segments;
	size_t functions; /* descriptions that were used */
	size_t refused;   /* descriptions that were not understood */
};

/*
 * Compiles the rows of the file behind `fd`, from .eh_frame or else from
 * .debug_frame. The descriptor may be closed afterwards. -ENOEXEC if it is no
 * x86-64 ELF file, -ENODATA if it has no frame information, -E2BIG, -ENOMEM.
 * Thread-safe.
 */
int unwind_read(int fd, struct unwind_file **out);

/* The same for an image in memory, which may go away afterwards. */
int unwind_read_memory(void *image, size_t size, struct unwind_file **out);

/* What tells rows from other ones, wherever they are from: a hash with a seed that nobody knows. */
void unwind_fingerprint(const struct unwind_file *file, const uint64_t seed[2], uint64_t out[2]);

void unwind_free(struct unwind_file *file); /* NULL is allowed */

/* The rule at an address as the linker knows it; the empty one where there is none. */
const struct unwind_rule *unwind_find(const struct unwind_file *file, uint64_t address);

/* Where an offset of the file is loaded, as the linker knows it; false if not as code. */
bool unwind_address(const struct unwind_file *file, uint64_t offset, uint64_t *address);

#endif
