/* SPDX-License-Identifier: BSD-2-Clause */
/* elf_symbols.h: the functions in an ELF file. */
#ifndef GCPROF_ELF_SYMBOLS_H
#define GCPROF_ELF_SYMBOLS_H

#include <gelf.h>
#include <stddef.h>
#include <stdint.h>

#include "debug_open.h"
#include "symbol.h"

struct elf_symbols;

/*
 * Reads the symbol table of the file behind `fd`: .symtab, else that of its separate debug file,
 * which `access` opens, else .dynsym. The descriptor may be closed afterwards. -ENOEXEC if it is
 * not a usable ELF file, -ENAMETOOLONG if all names of functions are longer than ELF_STRING_MAX,
 * -ENOMEM.
 */
int elf_symbols_read(int fd, const struct debug_access *access, struct elf_symbols **out);

/* The same for an image in memory, which is borrowed. */
int elf_symbols_read_memory(void *image, size_t size, const struct debug_access *access,
			    struct elf_symbols **out);

void elf_symbols_free(struct elf_symbols *symbols); /* NULL is allowed */

/*
 * The function at a file offset and those inlined into it there, outermost first; returns their
 * number. Names are linker names, owned by `symbols`. A function without a name has only `offset`;
 * its name is NULL.
 */
size_t elf_symbols_find(const struct elf_symbols *symbols, uint64_t offset,
			struct symbol out[SYMBOLS_MAX]);

/* The name of a type in a Go program, by the distance of its descriptor from the first one: see
 * go_table_type_name(). */
size_t elf_symbols_type(const struct elf_symbols *symbols, uint64_t number, char *out, size_t size,
			bool *plain);

/* Names the stubs through which code calls other files (the PLT). */

/* Receives a stub: its link-time address and size, and the function that it calls. A negative errno
 * ends the search. */
typedef int plt_visit(void *context, uint64_t address, uint64_t size, const char *name);

/* The function at an address in the file itself, or NULL. */
typedef const char *plt_resolve(void *context, uint64_t address);

/* Calls `visit` for every stub that can be named (x86-64). Returns its error, 0 or -ENOMEM. */
int plt_each(Elf *elf, plt_visit *visit, plt_resolve *resolve, void *context);

#endif
