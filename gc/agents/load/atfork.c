/* SPDX-License-Identifier: BSD-2-Clause */
/* atfork.c: pthread_atfork() where the C library may not have it. */
/*
 * An agent is also loaded into programs with another C library than the one it was linked with. So
 * all its undefined symbols are weak: the loader does not refuse it, and agents find out what they
 * have. The C library links its own pthread_atfork() into each file, with a symbol that is not
 * weak.
 */
#include <errno.h>
#include <pthread.h>

extern int __register_atfork(void (*prepare)(void), void (*parent)(void), void (*child)(void),
			     void *file) __attribute__((weak));
extern void *__dso_handle __attribute__((visibility("hidden")));

__attribute__((visibility("hidden"))) int pthread_atfork(void (*prepare)(void),
							 void (*parent)(void), void (*child)(void))
{
	return __register_atfork ? __register_atfork(prepare, parent, child, __dso_handle) : ENOSYS;
}
