/* SPDX-License-Identifier: BSD-2-Clause */
/* priority.h: raises the recorder's scheduling priority while it must be quick. */
#ifndef GCPROF_PRIORITY_H
#define GCPROF_PRIORITY_H

/*
 * Gives the calling thread the highest priority (the lowest nice value). Make the first call before
 * there are other threads: it remembers the value of the process. Negative errno: without
 * CAP_SYS_NICE nothing changes.
 */
int priority_raise(void);

/*
 * Restores the original nice value if it was raised, also in threads and processes created
 * meanwhile, which inherited it. Cannot fail: lowering the priority is always allowed.
 */
void priority_restore(void);

/* The nice value of the recorder when it is not raised. */
int priority_usual(void);

#endif
