/* SPDX-License-Identifier: BSD-2-Clause */
/* jvm.h: the functions of JNI and JVMTI that the agent calls, as entries of their tables. */
/*
 * Both are binary interfaces: an entry keeps its position in all releases. So the agent is built
 * without a JDK, and one build works with all of them. A test compares this with a JDK's headers.
 */
#ifndef GCPROF_JVM_H
#define GCPROF_JVM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../../provider/provider.h"

typedef void *jvm_object; /* a reference: local, global, or weak */

/* A table of functions begins at entry 0; entries that are not called are placeholders. */
#define UNUSED(first, last) void *unused_##first[(last) - (first) + 1]

struct jvm;
struct jvmti;

struct jni {
	const struct jni_functions {
		UNUSED(0, 5);
		jvm_object (*find_class)(struct jni *, const char *);
		UNUSED(7, 16);
		void (*exception_clear)(struct jni *);
		UNUSED(18, 20);
		jvm_object (*new_global)(struct jni *, jvm_object);
		void (*delete_global)(struct jni *, jvm_object);
		void (*delete_local)(struct jni *, jvm_object);
		uint8_t (*is_same)(struct jni *, jvm_object, jvm_object);
		UNUSED(25, 26);
		jvm_object (*alloc_object)(struct jni *, jvm_object class);
		UNUSED(28, 218);
		int32_t (*get_jvm)(struct jni *, struct jvm **);
		UNUSED(220, 225);
		jvm_object (*new_weak)(struct jni *, jvm_object);
		void (*delete_weak)(struct jni *, jvm_object);
		uint8_t (*exception_check)(struct jni *);
	} * functions;
};

#define JNI_VERSION_WANTED 0x00010006

struct jni_attach {
	int32_t version;
	const char *name;
	jvm_object group;
};

struct jvm {
	const struct jvm_functions {
		UNUSED(0, 4);
		int32_t (*detach)(struct jvm *);
		int32_t (*get_env)(struct jvm *, void **, int32_t version);
		int32_t (*attach_daemon)(struct jvm *, void **, struct jni_attach *);
	} * functions;
};

#define JVMTI_VERSION_WANTED 0x300b0000 /* release 11, the first with sampling */

enum jvmti_event { JVMTI_GC_START = 81, JVMTI_GC_FINISH = 82, JVMTI_SAMPLE = 86 };

/* Bits of the capabilities. */
enum { JVMTI_CAN_GC_EVENTS = 31, JVMTI_CAN_SAMPLE = 43 };

enum { JVMTI_NOT_AVAILABLE = 98 }; /* error: another agent has the capability */

struct jvmti_capabilities {
	uint64_t bits[2];
};

/* Callbacks by event number. */
struct jvmti_callbacks {
	UNUSED(50, 80);
	void (*gc_start)(struct jvmti *);
	void (*gc_finish)(struct jvmti *);
	UNUSED(83, 85);
	void (*sample)(struct jvmti *, struct jni *, jvm_object thread, jvm_object object,
		       jvm_object class, int64_t size);
};

/* The functions of JVMTI are numbered from 1. */
struct jvmti {
	const struct jvmti_functions {
		UNUSED(1, 1);
		int (*set_event)(struct jvmti *, int on, enum jvmti_event, jvm_object thread, ...);
		UNUSED(3, 121);
		int (*set_callbacks)(struct jvmti *, const struct jvmti_callbacks *, int32_t size);
		UNUSED(123, 126);
		int (*dispose)(struct jvmti *);
		UNUSED(128, 141);
		int (*add_capabilities)(struct jvmti *, const struct jvmti_capabilities *);
	} * functions;
};

/* Functions of the agent that the virtual machine and its launcher call. */
jvm_object JVM_FindClassFromBootLoader(struct jni *jni, const char *name);
int32_t Agent_OnAttach(struct jvm *jvm, char *options, void *reserved);

/* Follows sampled objects of a Java virtual machine until they die. */

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
