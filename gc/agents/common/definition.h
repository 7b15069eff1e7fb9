/* SPDX-License-Identifier: BSD-2-Clause */
/* definition.h: which file defines a function that the program calls. */
#ifndef GCPROF_AGENTS_DEFINITION_H
#define GCPROF_AGENTS_DEFINITION_H

#include <dlfcn.h>
#include <elf.h>
#include <stdbool.h>
#include <stddef.h>

#pragma weak dladdr1 /* other C libraries lack it */

/* Finds the function's code; NULL: none. A program that takes the address of a library's function
 * may have a stub under that name, with an undefined symbol: *is_stub. */
static inline const void *definition(const char *name, bool *is_stub)
{
	void *found = dlsym(RTLD_DEFAULT, name), *symbol = NULL;
	Dl_info info;

	*is_stub = found && dladdr1 && dladdr1(found, &info, &symbol, RTLD_DL_SYMENT) && symbol &&
		   ((const Elf64_Sym *)symbol)->st_shndx == SHN_UNDEF;
	return found;
}

/* Whether two addresses belong to the same file. */
static inline bool definition_same_file(const void *a, const void *b)
{
	Dl_info first, second;

	return dladdr(a, &first) && dladdr(b, &second) && first.dli_fbase == second.dli_fbase;
}

#endif
