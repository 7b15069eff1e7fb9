/* SPDX-License-Identifier: BSD-2-Clause */
/* debug_root.h: separate debug files of processes that see other files than the recorder does. */
#ifndef GCPROF_DEBUG_ROOT_H
#define GCPROF_DEBUG_ROOT_H

#include <stddef.h>
#include <stdint.h>

/*
 * Opens the file that the process keeps under this build-id below its own root:
 * one in a container. -1 if there is none, or if the process (as /proc calls it
 * here) sees the same files as the recorder. Its content is anybody's.
 */
int debug_root_open(uint32_t pid, const unsigned char *build_id, size_t size);

/* Finds a path there: a descriptor (O_PATH), or -1. */
int debug_root_find(uint32_t pid, const char *path);

#endif
