/* SPDX-License-Identifier: BSD-2-Clause */
/* priority.h: puts the recorder ahead of what keeps the CPUs busy, while it must be quick. */
#ifndef GCPROF_PRIORITY_H
#define GCPROF_PRIORITY_H

/*
 * Gives the calling thread the highest niceness. The first call is made before there
 * are other threads, and remembers what the process had. Negative errno: without
 * CAP_SYS_NICE nothing changes.
 */
int priority_raise(void);

/*
 * Takes it back, if it was raised: for threads and processes that were made meanwhile
 * and inherited it, too. Never fails: everybody may be nicer.
 */
void priority_restore(void);

/* The niceness that the recorder has when it is not raised. */
int priority_usual(void);

#endif
