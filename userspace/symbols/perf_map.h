/* SPDX-License-Identifier: BSD-2-Clause */
/* perf_map.h: reads the text by which JIT compilers name their functions: /tmp/perf-PID.map. */
#ifndef GCPROF_PERF_MAP_H
#define GCPROF_PERF_MAP_H

#include "code_table.h"

/*
 * Adds the functions of the whole lines among `size` bytes: "START SIZE name",
 * numbers hexadecimal. Lines that are none are skipped. *used becomes how many bytes
 * that were; what follows is the beginning of a line. What code_table_add() returns.
 */
int perf_map_parse(struct code_table *table, const char *text, size_t size, size_t *used);

#endif
