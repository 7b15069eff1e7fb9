/* SPDX-License-Identifier: BSD-2-Clause */
/* priority.c: raises the recorder's scheduling priority while it must be quick. */
#include "priority.h"

#include <errno.h>
#include <stdbool.h>
#include <sys/resource.h>

/* The nice value of the process before it was raised; children have their own copy. */
static int usual;
static bool raised;

int priority_raise(void)
{
	if (!raised)
		usual = getpriority(PRIO_PROCESS, 0);
	if (setpriority(PRIO_PROCESS, 0, PRIO_MIN))
		return -errno;
	raised = true;
	return 0;
}

int priority_usual(void)
{
	return raised ? usual : getpriority(PRIO_PROCESS, 0);
}

void priority_restore(void)
{
	if (raised)
		(void)setpriority(PRIO_PROCESS, 0, usual);
}
