/* SPDX-License-Identifier: BSD-2-Clause */
/* rights.c: may this process record, and can this kernel? */
#include "rights.h"

#include <errno.h>
#include <linux/capability.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#define BTF_PATH "/sys/kernel/btf/vmlinux"

enum { KERNEL_MAJOR = 6, KERNEL_MINOR = 1 };

/* The effective capabilities of this process as a set of bits; 0 if they cannot be had. */
static uint64_t capabilities(void)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[2] = {{0}};

	if (syscall(SYS_capget, &header, data))
		return 0;
	return (uint64_t)data[1].effective << 32 | data[0].effective;
}

static bool has(uint64_t set, int capability)
{
	return set >> capability & 1;
}

static int check_kernel(struct problem *problem)
{
	struct utsname name;
	unsigned major = 0, minor = 0;

	if (uname(&name) || sscanf(name.release, "%u.%u", &major, &minor) != 2)
		return 0; /* an unusual name of a kernel is no reason to give up */
	if (major < KERNEL_MAJOR || (major == KERNEL_MAJOR && minor < KERNEL_MINOR))
		return problem_set(problem, -EOPNOTSUPP,
				   "Linux %s is too old: recording needs %d.%d or newer",
				   name.release, KERNEL_MAJOR, KERNEL_MINOR);
	if (access(BTF_PATH, R_OK))
		return problem_set(
			problem, -EOPNOTSUPP,
			"%s: %s; nothing can be recorded without the kernel's type "
			"information, which a kernel built with CONFIG_DEBUG_INFO_BTF=y has",
			BTF_PATH, strerror(errno));
	return 0;
}

int rights_check(struct rights *out, struct problem *problem)
{
	uint64_t set = capabilities();
	bool admin = has(set, CAP_SYS_ADMIN);

	*out = (struct rights){.probes = admin};
	if (!admin && (!has(set, CAP_BPF) || !has(set, CAP_PERFMON)))
		return problem_set(
			problem, -EPERM,
			"recording needs root: the kernel lets nobody else load BPF "
			"programs and attach probes\nTry 'sudo gcprof record -- COMMAND'; the "
			"program itself runs as you all the same.");
	if (!admin)
		problem_set(
			problem, 0,
			"without CAP_SYS_ADMIN the kernel refuses probes: no allocation samples "
			"and no collections will be recorded; run gcprof as root to have them");
	return check_kernel(problem);
}
