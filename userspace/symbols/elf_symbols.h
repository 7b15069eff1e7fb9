/* SPDX-License-Identifier: BSD-2-Clause */
/* elf_symbols.h: the functions of one ELF file. */
#ifndef GCPROF_ELF_SYMBOLS_H
#define GCPROF_ELF_SYMBOLS_H

#include <stddef.h>
#include <stdint.h>

#include "debug_open.h"
#include "symbol.h"

struct elf_symbols;

/*
 * Reads the symbol table of the file behind `fd`: .symtab, else that of its
 * separate debug file, which `access` opens, else .dynsym. The descriptor may be closed
 * afterwards.
 * -ENOEXEC if it is no ELF file that can be used, -ENAMETOOLONG if it has names of functions and
 * all are longer than ELF_STRING_MAX, -ENOMEM.
 */
int elf_symbols_read(int fd, const struct debug_access *access, struct elf_symbols **out);

/* The same for an image in memory, which must stay where it is. */
int elf_symbols_read_memory(void *image, size_t size, const struct debug_access *access,
			    struct elf_symbols **out);

void elf_symbols_free(struct elf_symbols *symbols); /* NULL is allowed */

/*
 * The function at an offset of the file and those inlined into it there, outermost
 * first; how many. Names are as the linker knows them, and owned by `symbols`. Of a
 * function without a name only `offset` is known: one whose name is NULL.
 */
size_t elf_symbols_find(const struct elf_symbols *symbols, uint64_t offset,
			struct symbol out[SYMBOLS_MAX]);

/* The name of a type of a Go program, by the distance of its description from the first one: as
 * go_table_type_name(). */
size_t elf_symbols_type(const struct elf_symbols *symbols, uint64_t number, char *out, size_t size);

#endif
