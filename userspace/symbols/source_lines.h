/* SPDX-License-Identifier: BSD-2-Clause */
/* source_lines.h: source files, lines and inlined functions from an ELF file's DWARF. */
/*
 * The file is read through libdw and is not trusted: the sizes of its sections, the number of
 * entries, and the time spent are limited. Data beyond the limits is unknown, never an error. Not
 * thread-safe.
 */
#ifndef GCPROF_SOURCE_LINES_H
#define GCPROF_SOURCE_LINES_H

#include <gelf.h>

#include "debug_open.h"
#include "symbol.h"

struct source_lines;

/*
 * `fd` is the file behind `elf`, -1 for an image in memory; `access` opens its shared file. `elf`
 * must outlive the result. Everything needed is read now, so its descriptor may be closed. -ENODATA
 * without usable DWARF, -ENOMEM.
 */
int source_lines_open(Elf *elf, int fd, const struct debug_access *access,
		      struct source_lines **out);
void source_lines_free(struct source_lines *lines); /* NULL is allowed */

/*
 * The function at a link-time address and those inlined into it, outermost first; returns their
 * number. Names are linker names, or NULL. `offset` is 0. Texts are owned by `lines`.
 */
size_t source_lines_find(struct source_lines *lines, uint64_t address,
			 struct symbol out[SYMBOLS_MAX]);

#endif
