/* SPDX-License-Identifier: BSD-2-Clause */
/* returns.h: finds the return instructions of a function by decoding it. */
#ifndef GCPROF_RUNTIMES_RETURNS_H
#define GCPROF_RUNTIMES_RETURNS_H

#include "find.h"

/* The addresses of all ret instructions of the function at an address, whose symbol must have a
 * size. Returns their number; negative: none, more than `max`, or code that cannot be decoded to
 * its end. */
int runtime_returns(struct runtime_file *file, uint64_t address, uint64_t *out, size_t max);

#endif
