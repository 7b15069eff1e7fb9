/* SPDX-License-Identifier: BSD-2-Clause */
/* allocators.h: finds out whether a file has its own malloc(), and which. */
#ifndef GCPROF_READER_ALLOCATORS_H
#define GCPROF_READER_ALLOCATORS_H

#include <gelf.h>
#include <stdint.h>

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

/* The allocator of a file that defines malloc(), by its exported symbols. */
enum allocator allocator_find(Elf *elf);

/* For use in "PROGRAM has ...". */
const char *allocator_name(uint32_t allocator);

#endif
