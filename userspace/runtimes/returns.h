/* SPDX-License-Identifier: BSD-2-Clause */
/* returns.h: where a function returns, found by decoding its code. */
#ifndef GCPROF_RUNTIMES_RETURNS_H
#define GCPROF_RUNTIMES_RETURNS_H

#include "find.h"

/* The addresses of all ret instructions of the function at an address, of which a symbol says how
 * long it is: how many; negative: there are none or more than `max`, or its code cannot be decoded
 * up to its end. */
int runtime_returns(struct runtime_file *file, uint64_t address, uint64_t *out, size_t max);

#endif
