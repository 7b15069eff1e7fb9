/* SPDX-License-Identifier: BSD-2-Clause */
/* plt_names.h: names the stubs through which code calls other files (the PLT). */
#ifndef GCPROF_PLT_NAMES_H
#define GCPROF_PLT_NAMES_H

#include <gelf.h>

/* Receives a stub: its link-time address and size, and the function that it calls. A negative errno
 * ends the search. */
typedef int plt_visit(void *context, uint64_t address, uint64_t size, const char *name);

/* The function at an address in the file itself, or NULL. */
typedef const char *plt_resolve(void *context, uint64_t address);

/* Calls `visit` for every stub that can be named (x86-64). Returns its error, 0 or -ENOMEM. */
int plt_each(Elf *elf, plt_visit *visit, plt_resolve *resolve, void *context);

#endif
