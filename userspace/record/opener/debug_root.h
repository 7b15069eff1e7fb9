/* SPDX-License-Identifier: BSD-2-Clause */
/* debug_root.h: separate debug files of processes that see other files than the recorder does. */
#ifndef GCPROF_DEBUG_ROOT_H
#define GCPROF_DEBUG_ROOT_H

#include <stddef.h>
#include <stdint.h>

/*
 * Finds a path as the process (as /proc calls it here) sees it: a descriptor (O_PATH), or -1 if
 * there is nothing, or if the process sees the same files as the recorder.
 */
int debug_root_find(uint32_t pid, const char *path);

#endif
