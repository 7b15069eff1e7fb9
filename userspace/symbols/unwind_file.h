/* SPDX-License-Identifier: BSD-2-Clause */
/* unwind_file.h: the unwind rows of an ELF file. */
#ifndef GCPROF_UNWIND_FILE_H
#define GCPROF_UNWIND_FILE_H

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

void unwind_free(struct unwind_file *file); /* NULL is allowed */

/* The rule at an address as the linker knows it; the empty one where there is none. */
const struct unwind_rule *unwind_find(const struct unwind_file *file, uint64_t address);

/* Where an offset of a file with these segments is loaded, as the linker knows it; false if not as
 * code. */
bool unwind_address(const struct unwind_segment *segments, size_t n, uint64_t offset,
		    uint64_t *address);

/*
 * Where an address that the linker knows is in a process that has mapped `offset` of the
 * file at `start`; false if that mapping holds no code.
 */
bool unwind_locate(const struct unwind_segment *segments, size_t n, uint64_t start, uint64_t offset,
		   uint64_t address, uint64_t *out);

/* What tells rows from others, wherever they come from: a hash with a secret seed. */
void unwind_fingerprint(const struct unwind_file *file, const uint64_t seed[2], uint64_t out[2]);

#endif
