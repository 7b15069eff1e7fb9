/* SPDX-License-Identifier: BSD-2-Clause */
/* memory.h: bounds the memory of a process that reads files which others made. */
#ifndef GCPROF_MEMORY_H
#define GCPROF_MEMORY_H

#include <sys/stat.h>

/*
 * From now on memory for this file, and for those allowed before, runs out (malloc() fails) at
 * 960 MiB, or at six times their size if that is more, or at $GCPROF_MEMORY.
 */
void memory_allow(const struct stat *file);

#endif
