/* SPDX-License-Identifier: BSD-2-Clause */
/* uprobe_multi.c: one link for many probes of a process. */
#include "uprobe_multi.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>

/* union bpf_attr for BPF_LINK_CREATE of ATTACH_TYPE_UPROBE_MULTI. */
struct link_create {
	uint32_t program, target, type, flags;
	uint64_t path, offsets, semaphores, cookies;
	uint32_t count, multi_flags;
	int32_t pid;
	uint32_t reserved;
};

_Static_assert(sizeof(struct link_create) == 64, "defined by the kernel");

int uprobe_multi_link(int program, const struct uprobe_multi *probes)
{
	struct link_create attr = {
		.program = (uint32_t)program,
		.type = ATTACH_TYPE_UPROBE_MULTI,
		.path = (uint64_t)(uintptr_t)probes->path,
		.offsets = (uint64_t)(uintptr_t)probes->offsets,
		.semaphores = (uint64_t)(uintptr_t)probes->semaphores,
		.cookies = (uint64_t)(uintptr_t)probes->cookies,
		.count = probes->count,
		.pid = probes->pid,
	};
	int link = (int)syscall(SYS_bpf, BPF_LINK_CREATE, &attr, sizeof(attr));

	return link < 0 ? -errno : link;
}

/*
 * The change that made the pid that of a process also made a negative one invalid (the kernel's
 * commit 46ba0e49b642, also in its stable releases; libbpf asks the same question). A directory has
 * no probes, so that no link is created whatever the kernel is.
 */
bool uprobe_multi_supported(void)
{
	LIBBPF_OPTS(bpf_prog_load_opts, options,
		    .expected_attach_type = (enum bpf_attach_type)ATTACH_TYPE_UPROBE_MULTI);
	const struct bpf_insn nothing[] = {
		{.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0},
		{.code = BPF_JMP | BPF_EXIT},
	};
	const uint64_t offset = 0;
	struct uprobe_multi probes = {.path = "/", .offsets = &offset, .count = 1};
	int program = bpf_prog_load(BPF_PROG_TYPE_KPROBE, NULL, "GPL", nothing,
				    sizeof(nothing) / sizeof(nothing[0]), &options);
	bool supported;

	if (program < 0)
		return errno == EPERM;
	supported = uprobe_multi_link(program, &probes) == -EBADF;
	probes.pid = -1;
	supported = supported && uprobe_multi_link(program, &probes) == -EINVAL;
	close(program);
	return supported;
}
