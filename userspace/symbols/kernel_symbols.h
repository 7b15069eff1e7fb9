/* SPDX-License-Identifier: BSD-2-Clause */
/* kernel_symbols.h: the functions of the running kernel. */
#ifndef GCPROF_KERNEL_SYMBOLS_H
#define GCPROF_KERNEL_SYMBOLS_H

#include <stdint.h>

struct kernel_symbols;

/*
 * Reads an open /proc/kallsyms to its end; `fd` is borrowed. The table is empty if the kernel hides
 * addresses from the user who opened it.
 */
int kernel_symbols_read(int fd, struct kernel_symbols **out);
void kernel_symbols_free(struct kernel_symbols *symbols); /* NULL is allowed */

/* The name of the function, owned by `symbols`, or NULL. */
const char *kernel_symbols_find(const struct kernel_symbols *symbols, uint64_t address,
				uint64_t *within);

#endif
