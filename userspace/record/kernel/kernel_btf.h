/* SPDX-License-Identifier: BSD-2-Clause */
/* kernel_btf.h: BTF ids of functions and typedefs of the kernel, and the arguments of tracepoints.
 */
#ifndef GCPROF_KERNEL_BTF_H
#define GCPROF_KERNEL_BTF_H

#include <stdbool.h>

/*
 * Stores the id of each function or typedef in `names`, which ends with NULL, in *numbers[i];
 * leaves those of missing ones alone. Finds nothing before Linux 6.16, whose BTF cannot be mapped:
 * libbpf would copy all of it twice, which takes longer than loading some of the programs.
 */
void kernel_btf_find(const char *const *names, int *const *numbers);

/* Does the tracepoint hand over a task first? Takes a tenth of a second. */
bool kernel_btf_has_task(const char *tracepoint);

#endif
