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

/* A range of a file that is loaded as code. */
struct unwind_segment {
	uint64_t offset, address, size;
};

struct unwind_file {
	uint64_t base;             /* link-time address of the first page, a multiple of 64 KiB */
	struct unwind_page *pages; /* `first` and `chunk` are unused: see `starts` */
	uint32_t *starts;          /* the first row of each page */
	size_t n_pages;
	unwind_row *rows; /* with indexes into `rules` */
	size_t n_rows;
	struct unwind_rule *rules; /* the first is the empty rule */
	size_t n_rules;
	struct unwind_segment segments[UNWIND_SEGMENTS_MAX];
	size_t n_segments;
	size_t functions; /* used function descriptions */
	size_t refused;   /* descriptions that were not understood */
};

void unwind_free(struct unwind_file *file); /* NULL is allowed */

/* The rule at a link-time address; the empty one if there is none. */
const struct unwind_rule *unwind_find(const struct unwind_file *file, uint64_t address);

/* The link-time address of a file offset in these segments; false if it is not code. */
bool unwind_address(const struct unwind_segment *segments, size_t n, uint64_t offset,
		    uint64_t *address);

/*
 * Translates a link-time address to its address in a process that has mapped `offset` of the file
 * at `start`; false if that mapping holds no code.
 */
bool unwind_locate(const struct unwind_segment *segments, size_t n, uint64_t start, uint64_t offset,
		   uint64_t address, uint64_t *out);

/* A hash of the rows with a secret seed, which identifies them regardless of origin. */
void unwind_rows_hash(const struct unwind_file *file, const uint64_t seed[2], uint64_t out[2]);

#endif
