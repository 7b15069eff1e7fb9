/* SPDX-License-Identifier: BSD-2-Clause */
/* kernel_btf.h: the numbers of kernel functions, which BPF programs call them by. */
#ifndef GCPROF_KERNEL_BTF_H
#define GCPROF_KERNEL_BTF_H

/*
 * Puts the number of each function of `names`, which ends with NULL, into *numbers[i], and leaves
 * those alone that the kernel does not have. Nothing is found before Linux 6.16, where its
 * type information cannot be mapped: libbpf's own way copies all of it twice, which takes
 * longer than loading some of the programs.
 */
void kernel_btf_functions(const char *const *names, int *const *numbers);

#endif
