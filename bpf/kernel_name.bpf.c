/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/* kernel_name.bpf.c: names a function of the kernel for the recorder, which runs this program. */
/*
 * Reading /proc/kallsyms would take long: the kernel writes a line for each of its symbols. This
 * finds only the functions that are in the profile.
 */
#include "maps.h"

struct kernel_name kernel_name = {0};

SEC("syscall")
int name_kernel(void *context)
{
	BPF_SNPRINTF(kernel_name.text, sizeof(kernel_name.text), "%ps", kernel_name.address);
	return 0;
}
