/* SPDX-License-Identifier: BSD-2-Clause */
/* kernel_btf.c: tests that kernel functions have the numbers that libbpf finds. */
#include <bpf/btf.h>
#include <errno.h>
#include <stdio.h>
#include <sys/utsname.h>

#include "record/kernel/needs.h"
#include "test.h"

TEST(functions_have_the_numbers_that_libbpf_finds)
{
	static const char *const names[] = {"vfs_read", "bpf_preempt_disable",
					    "a_function_that_no_kernel_has", "vfs_write", NULL};
	int number[] = {-ENOENT, -ENOENT, -ENOENT, -ENOENT};
	struct utsname name;
	unsigned major = 0, minor = 0;
	struct btf *kernel;

	CHECK(!uname(&name) && sscanf(name.release, "%u.%u", &major, &minor) == 2);
	if (major < 6 || (major == 6 && minor < 16))
		test_skip("this kernel's type information cannot be mapped");
	kernel = btf__load_vmlinux_btf();
	if (!kernel)
		test_skip("this kernel has no type information");
	kernel_btf_find(names, (int *const[]){&number[0], &number[1], &number[2], &number[3]});
	for (int i = 0; names[i]; i++)
		CHECK_EQ(number[i], btf__find_by_name_kind(kernel, names[i], BTF_KIND_FUNC));
	CHECK(number[0] > 0 && number[2] == -ENOENT);
	btf__free(kernel);
}
