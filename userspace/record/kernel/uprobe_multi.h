/* SPDX-License-Identifier: BSD-2-Clause */
/* uprobe_multi.h: one link for many probes of a process. */
#ifndef GCPROF_UPROBE_MULTI_H
#define GCPROF_UPROBE_MULTI_H

#include <stdbool.h>
#include <stdint.h>

enum { ATTACH_TYPE_UPROBE_MULTI = 48 }; /* newer than the build's headers */

/* Lists of `count` elements each; semaphores and cookies may be NULL. */
struct uprobe_multi {
	const char *path;
	const uint64_t *offsets, *semaphores, *cookies;
	uint32_t count;
	int32_t pid; /* of a process, see below; 0: all */
};

/* The link; a negative errno. */
int uprobe_multi_link(int program, const struct uprobe_multi *probes);

/*
 * Can the kernel create such links, and does their pid mean a process? Before Linux 6.10 it means a
 * thread. True if the rights do not suffice to find out: loading the programs will tell.
 */
bool uprobe_multi_supported(void);

#endif
