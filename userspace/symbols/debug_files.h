/* SPDX-License-Identifier: BSD-2-Clause */
/* debug_files.h: what was taken out of an ELF file and put elsewhere: its debug file,
 * MiniDebugInfo. */
#ifndef GCPROF_DEBUG_FILES_H
#define GCPROF_DEBUG_FILES_H

#include <gelf.h>

#include <stdbool.h>

#include "symbols.h"
#include "../util/buffer.h"

#define DEBUG_FOLDER     "/usr/lib/debug"
#define DEBUG_PATH_BYTES (sizeof(DEBUG_FOLDER) + 2 * BUILD_ID_MAX + 32)

/* Where debug files are kept by build-id; false if there is no such place for this one. */
bool debug_file_path(const unsigned char *id, size_t size, char path[DEBUG_PATH_BYTES]);

/*
 * Opens the separate debug file that belongs to the file behind `fd`: by its
 * build-id, else `given` (borrowed, -1: none) if it has the same one, else by the
 * name and checksum that the file gives (.gnu_debuglink). -1 if there is none. Only
 * regular files are ever opened.
 */
int debug_file_open(int fd, int given, Elf *elf);

/*
 * Opens the file to which dwz moved what several debug files share, which the one
 * behind `fd` (-1: it has no path) names by build-id and name. -1 if there is none.
 */
int debug_shared_open(int fd, Elf *elf);

/* Unpacks .gnu_debugdata, an ELF file with symbols: 0 and *out is to be freed; a negative errno. */
int debug_data_unpack(Elf *elf, struct buffer *out);

#endif
