/* SPDX-License-Identifier: BSD-2-Clause */
/* limit.h: the allocation limit of a thread: when it leaves the fast path. */
#ifndef GCPROF_LIMIT_H
#define GCPROF_LIMIT_H

#include "heap.h"

/* The limit while the thread need not stop. */
char *limit_wanted(const struct gc_thread *thread);

/* Recomputes the limit after one of its reasons changed. The thread itself, or in a stop. */
void limit_update(struct gc_thread *thread);

/* Makes the thread take the slow path at its next allocation or safepoint, unless it races with
 * limit_update(). Any thread. */
void limit_request(struct gc_thread *thread);

/* Takes the thread's buffer away. The thread itself, or in a stop. */
void limit_drop_buffer(struct gc_thread *thread);

#endif
