/* SPDX-License-Identifier: BSD-2-Clause */
/* symbol.h: the symbol of an address: a function and its source position. */
#ifndef GCPROF_SYMBOL_H
#define GCPROF_SYMBOL_H

#include <stdint.h>

/* The function that returns it documents who owns its texts. */
struct symbol {
	const char *name; /* NULL: unknown */
	const char *file; /* source file; NULL: unknown */
	uint32_t line;    /* in `file`: of the instruction, or of the inlined call; 0: unknown */
	uint32_t begin;   /* first line of the function in `file`; 0: unknown */
	uint64_t offset;  /* of the instruction in the function; 0 for inlined ones */
};

#define SYMBOLS_MAX 64 /* at one address: a function and those inlined into it */

#endif
