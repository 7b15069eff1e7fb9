/* SPDX-License-Identifier: BSD-2-Clause */
/* debug_files.h: debug information kept outside of an ELF file: its debug file, MiniDebugInfo. */
#ifndef GCPROF_DEBUG_FILES_H
#define GCPROF_DEBUG_FILES_H

#include <gelf.h>

#include "debug_open.h"
#include "../util/buffer.h"

/*
 * Opens the separate debug file of the file behind `fd`: by its build-id, else by the name and
 * checksum in the file (.gnu_debuglink). -1 if there is none.
 */
int debug_file_open(int fd, const struct debug_access *access, Elf *elf);

/*
 * Opens the file to which dwz moved the shared parts of several debug files; the one behind `fd`
 * (-1: it has no path) gives its build-id and name. -1 if there is none.
 */
int debug_shared_open(int fd, const struct debug_access *access, Elf *elf);

/* Unpacks .gnu_debugdata, an ELF file with symbols: 0, and the caller frees *out; or a negative
 * errno. */
int debug_data_unpack(Elf *elf, struct buffer *out);

#endif
