/* SPDX-License-Identifier: BSD-2-Clause */
/* source_lines.h: source files, lines and inlined functions, out of an ELF file's DWARF. */
/*
 * The file is read through libdw and not trusted: the sizes of its
 * sections, the entries that are read, and the time spent on it are bounded. What
 * lies beyond is unknown, never an error. Not thread-safe.
 */
#ifndef GCPROF_SOURCE_LINES_H
#define GCPROF_SOURCE_LINES_H

#include <gelf.h>

#include "debug_open.h"
#include "symbol.h"

struct source_lines;

/*
 * `fd` is the file behind `elf`, -1 for an image in memory; `access` opens what it shares. `elf`
 * must live as long; what is needed of it is read now, so its descriptor may be closed. -ENODATA if
 * it has no DWARF that can be used, -ENOMEM.
 */
int source_lines_open(Elf *elf, int fd, const struct debug_access *access,
		      struct source_lines **out);
void source_lines_free(struct source_lines *lines); /* NULL is allowed */

/*
 * What stands at an address as the linker knows it: the function and those
 * inlined into it, outermost first; how many. Names are as the linker knows them,
 * or NULL. `offset` is 0. Texts are owned by `lines`.
 */
size_t source_lines_find(struct source_lines *lines, uint64_t address,
			 struct symbol out[SYMBOLS_MAX]);

#endif
