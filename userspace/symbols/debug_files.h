/* SPDX-License-Identifier: BSD-2-Clause */
/* debug_files.h: what was taken out of an ELF file and put elsewhere: its debug file,
 * MiniDebugInfo. */
#ifndef GCPROF_DEBUG_FILES_H
#define GCPROF_DEBUG_FILES_H

#include <gelf.h>

#include "debug_open.h"
#include "../util/buffer.h"

/*
 * Opens the separate debug file that belongs to the file behind `fd`: by its build-id,
 * else by the name and checksum that the file gives (.gnu_debuglink). -1 if there is none.
 */
int debug_file_open(int fd, const struct debug_access *access, Elf *elf);

/*
 * Opens the file to which dwz moved what several debug files share, which the one
 * behind `fd` (-1: it has no path) names by build-id and name. -1 if there is none.
 */
int debug_shared_open(int fd, const struct debug_access *access, Elf *elf);

/* Unpacks .gnu_debugdata, an ELF file with symbols: 0 and *out is to be freed; a negative errno. */
int debug_data_unpack(Elf *elf, struct buffer *out);

#endif
