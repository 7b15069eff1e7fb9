/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/* viewer.h: may the user who gets the profile see what a thread passes to the kernel? */
/*
 * Under sudo, a user may record other users' processes. The profile then omits what only those
 * users and root could find out, as with ptrace: paths and numbers passed to system calls, results,
 * and addresses. Counts, times and errors remain.
 */
#ifndef GCPROF_VIEWER_H
#define GCPROF_VIEWER_H

#include "maps.h"

/* As in ptrace(2): a program that changes its user on exec is accessible to root only. */
static __always_inline bool viewer_is_denied(struct task_struct *task)
{
	uint32_t viewer = config.viewer;
	struct cred *cred;

	if (!viewer)
		return 0;
	cred = BPF_CORE_READ(task, real_cred);
	return BPF_CORE_READ(cred, uid.val) != viewer || BPF_CORE_READ(cred, euid.val) != viewer ||
	       BPF_CORE_READ(cred, suid.val) != viewer;
}

#endif
