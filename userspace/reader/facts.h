/* SPDX-License-Identifier: BSD-2-Clause */
/* facts.h: answers READ_FACTS: what the recorder must know as soon as a file is mapped. */
#ifndef GCPROF_READER_FACTS_H
#define GCPROF_READER_FACTS_H

#include <gelf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../symbols/symbols.h"
#include "../symbols/unwind.h"
#include "probes.h"

#define FACTS_TEXT_BYTES 256
#define OWN_SECTION      "gcprof_text" /* functions of a collector or provider */

struct file_facts {
	int32_t build_id_size; /* 0: none; a negative errno: not an ELF file */
	unsigned char build_id[BUILD_ID_MAX];
	struct unwind_segment segments[UNWIND_SEGMENTS_MAX]; /* with code */
	uint64_t control; /* link-time address of the control block; 0: none */
	uint32_t n_segments;
	uint32_t n_sites; /* of probes */
	struct runtime_facts runtime;
	uint32_t refused; /* sites that cannot be attached; `problem` gives the reason for the first
			   */
	char problem[FACTS_TEXT_BYTES];
	char interpreter[FACTS_TEXT_BYTES]; /* the program's dynamic linker; "": none named */
	uint32_t allocator;                 /* enum allocator: the file's own */
	uint64_t own, own_size; /* offset and size of OWN_SECTION in the file; size 0: none */
};

/* Reads the facts of a file and its probe sites, which the caller frees. -ENOMEM. */
int facts_read(int fd, struct file_facts *out, struct probe_site **sites);

/* Takes facts and sites from an answer and checks them. `sites` point into the answer. -EBADMSG. */
int facts_take(const void *data, size_t size, struct file_facts *out,
	       const struct probe_site **sites);

/*
 * Translates a link-time address to its address in a process that has mapped `offset` of the file
 * at `start`; false if that mapping holds no code.
 */
bool facts_locate(const struct file_facts *facts, uint64_t start, uint64_t offset, uint64_t address,
		  uint64_t *out);

/* Finds out whether a file has its own malloc(), and which. */

/* These numbers are part of file facts, but are not stored in profiles. */
enum allocator {
	ALLOCATOR_NONE,
	ALLOCATOR_LIBC,      /* the C library's */
	ALLOCATOR_SANITIZER, /* must be the first library loaded */
	ALLOCATOR_JEMALLOC,
	ALLOCATOR_TCMALLOC,
	ALLOCATOR_MIMALLOC,
	ALLOCATOR_OTHER,
	ALLOCATORS
};

/* For use in "PROGRAM has ...". */
const char *allocator_name(uint32_t allocator);

#endif
