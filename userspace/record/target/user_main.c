/* SPDX-License-Identifier: BSD-2-Clause */
/* user_main.c: the tasks of the process that acts with the user's rights. */
#include "user_main.h"

#include "../machine/cgroup.h"
#include "../machine/user_task.h"
#include "java_attach.h"
#include "target.h"

static const struct user_task *const tasks[] = {
	&user_task_open,    &user_task_remove, &output_open_task,    &output_publish_task,
	&output_close_task, &cgroup_task,      &target_resolve_task, &java_attach_task,
};

int user_main(void)
{
	return user_serve(tasks, sizeof(tasks) / sizeof(tasks[0]));
}
