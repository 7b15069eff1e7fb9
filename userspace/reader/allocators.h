/* SPDX-License-Identifier: BSD-2-Clause */
/* allocators.h: does a file bring a malloc() of its own, and whose is it? */
#ifndef GCPROF_READER_ALLOCATORS_H
#define GCPROF_READER_ALLOCATORS_H

#include <gelf.h>
#include <stdint.h>

/* Numbers travel in file facts; they are not stored. */
enum allocator {
	ALLOCATOR_NONE,
	ALLOCATOR_LIBC,      /* that of the C library */
	ALLOCATOR_SANITIZER, /* must be the first library that is loaded */
	ALLOCATOR_JEMALLOC,
	ALLOCATOR_TCMALLOC,
	ALLOCATOR_MIMALLOC,
	ALLOCATOR_OTHER,
	ALLOCATORS
};

/* By the symbols that the file exports: which allocator it has, if it defines malloc(). */
enum allocator allocator_find(Elf *elf);

/* As in "PROGRAM has ...". */
const char *allocator_name(uint32_t allocator);

#endif
