/* SPDX-License-Identifier: BSD-2-Clause */
/* kernel_btf.h: what the kernel says of its functions and tracepoints. */
#ifndef GCPROF_KERNEL_BTF_H
#define GCPROF_KERNEL_BTF_H

#include <stdbool.h>

/*
 * Puts the number of each function of `names`, which ends with NULL, into *numbers[i], and leaves
 * those alone that the kernel does not have. Nothing is found before Linux 6.16, where its
 * type information cannot be mapped: libbpf's own way copies all of it twice, which takes
 * longer than loading some of the programs.
 */
void kernel_btf_functions(const char *const *names, int *const *numbers);

/* Does the tracepoint hand over a task first? Takes a tenth of a second. */
bool kernel_btf_has_task(const char *tracepoint);

#endif
