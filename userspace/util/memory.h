/* SPDX-License-Identifier: BSD-2-Clause */
/* memory.h: limits the memory of a process that reads untrusted files. */
#ifndef GCPROF_MEMORY_H
#define GCPROF_MEMORY_H

#include <sys/stat.h>

/*
 * Allows memory for this file, in addition to earlier ones. malloc() fails beyond 960 MiB, or six
 * times the files' total size if that is more, or $GCPROF_MEMORY.
 */
void memory_allow(const struct stat *file);

#endif
