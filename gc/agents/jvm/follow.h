/* SPDX-License-Identifier: BSD-2-Clause */
/* follow.h: sampled objects of a Java virtual machine, until they die. */
#ifndef GCPROF_FOLLOW_H
#define GCPROF_FOLLOW_H

#include <stdbool.h>

#include "../../provider/provider.h"
#include "jvm.h"

#define FOLLOWED_MAX 32768 /* objects: each pause of a collector goes through all */

/* Before and behind the others; by the thread that sweeps. -ENOMEM. */
int follow_begin(struct jni *jni);
void follow_end(struct jni *jni);

/* A pause begins. Anything may be going on. */
void follow_pause(void);

/* The calling thread has allocated this object, which was sampled: follows it, if there is room. */
void follow_object(struct jni *jni, jvm_object object);

/* After a pause, and now and then: reports what has survived, and what is dead. */
void follow_sweep(struct jni *jni, struct gcprof_thread *thread, bool paused);

#endif
