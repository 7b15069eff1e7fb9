/* SPDX-License-Identifier: BSD-2-Clause */
/* symbol.h: what is known of an address: a function, and where it stands in the source. */
#ifndef GCPROF_SYMBOL_H
#define GCPROF_SYMBOL_H

#include <stdint.h>

/* The function that gives it out says who owns its texts. */
struct symbol {
	const char *name; /* NULL if nothing is known */
	const char *file; /* of the source, NULL: unknown */
	uint32_t line; /* in `file`: of the instruction, or of the call that was inlined; 0: unknown
			*/
	uint32_t begin;  /* where the function begins in `file`, 0: unknown */
	uint64_t offset; /* of the instruction in the function; 0 of inlined ones */
};

#define SYMBOLS_MAX 64 /* at one address: a function, and what was inlined into it */

#endif
