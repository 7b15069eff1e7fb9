/* SPDX-License-Identifier: BSD-2-Clause */
/* perf_map.h: reads the text in which JIT compilers name their functions: /tmp/perf-PID.map. */
#ifndef GCPROF_PERF_MAP_H
#define GCPROF_PERF_MAP_H

#include "code_table.h"

/*
 * Adds the functions in the complete lines among `size` bytes: "START SIZE name", with hexadecimal
 * numbers. Skips malformed lines. *used becomes the size of the complete lines; the rest is the
 * start of a line. Errors of code_table_add().
 */
int perf_map_parse(struct code_table *table, const char *text, size_t size, size_t *used);

#endif
