/* SPDX-License-Identifier: BSD-2-Clause */
/* follow.h: follows sampled objects of a Java virtual machine until they die. */
#ifndef GCPROF_FOLLOW_H
#define GCPROF_FOLLOW_H

#include <stdbool.h>

#include "../../provider/provider.h"
#include "jvm.h"

#define FOLLOWED_MAX 32768 /* objects: the collector scans all in each pause */

/* Before and after all other functions; by the thread that sweeps. -ENOMEM. */
int follow_begin(struct jni *jni);
void follow_end(struct jni *jni);

/* A pause begins. May be called at any moment. */
void follow_pause(void);

/* Follows a sampled object that the calling thread has allocated, if there is room. */
void follow_object(struct jni *jni, jvm_object object);

/* After a pause, and periodically: reports survivors and dead objects. */
void follow_sweep(struct jni *jni, struct gcprof_thread *thread, bool paused);

#endif
