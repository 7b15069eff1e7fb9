/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/* viewer.h: may the user who gets the profile know what a thread hands to the kernel? */
/*
 * A user who may call gcprof by sudo gets a recording of other users' processes, too. What only
 * they and root could find out, as by ptrace, is left out of it: paths and numbers that they
 * hand to system calls, results, and addresses. Counts, times and errors stay.
 */
#ifndef GCPROF_VIEWER_H
#define GCPROF_VIEWER_H

#include "maps.h"

/* As ptrace(2) decides: a program that changes its user on exec is root's only. */
static __always_inline bool viewer_is_denied(struct task_struct *task)
{
	uint32_t viewer = config.viewer;
	const struct cred *cred;

	if (!viewer)
		return 0;
	cred = BPF_CORE_READ(task, real_cred);
	return BPF_CORE_READ(cred, uid.val) != viewer || BPF_CORE_READ(cred, euid.val) != viewer ||
	       BPF_CORE_READ(cred, suid.val) != viewer;
}

#endif
