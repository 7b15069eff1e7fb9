/* SPDX-License-Identifier: BSD-2-Clause */
/* lines.h: decodes a Ruby function's line table, as copied by the kernel side. */
#ifndef GCPROF_RUBY_LINES_H
#define GCPROF_RUBY_LINES_H

#include <stddef.h>
#include <stdint.h>

/*
 * The line of an instruction; 0: unknown. `table` has the index of a function with so many words of
 * code, and its line entries; it is not trusted and may be cut. `instruction` is counted in words.
 */
uint32_t ruby_line(const unsigned char *table, size_t size, uint32_t words, uint64_t instruction);

#endif
