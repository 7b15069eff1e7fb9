/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/* user.h: whether all traced threads belong to one user, and which. */
/*
 * The profile says so (`user` in FORMAT.md): what paths in it may lead to depends on it.
 */
#ifndef GCPROF_USER_H
#define GCPROF_USER_H

#include "maps.h"

/* The user of all traced threads so far, until there is another one. */
uint32_t user_met = USER_NONE, users_differ = 0;

static __always_inline void user_is(uint32_t user)
{
	uint32_t met = user_met;

	if (met == USER_NONE)
		met = __sync_val_compare_and_swap(&user_met, USER_NONE, user);
	if (met != user && met != USER_NONE)
		users_differ = 1;
}

/* Notes the user of a traced thread, real and effective. */
static __always_inline void user_meet(struct task_struct *task)
{
	struct cred *cred = BPF_CORE_READ(task, real_cred);

	user_is(BPF_CORE_READ(cred, uid.val));
	user_is(BPF_CORE_READ(cred, euid.val));
}

#endif
