/* SPDX-License-Identifier: BSD-2-Clause */
/* system.c: the only file of the provider that makes system calls. */
/* Not by functions that are newer than version 2.17 of the C library. */
#include "system.h"

#include <linux/random.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

void *system_map(size_t size)
{
	void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return memory == MAP_FAILED ? NULL : memory;
}

void system_unmap(void *memory, size_t size)
{
	if (memory)
		munmap(memory, size);
}

void system_release(void *memory, size_t size)
{
	madvise(memory, size, MADV_DONTNEED);
}

uint64_t system_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

uint64_t system_random(void)
{
	uint64_t value;

	if (syscall(SYS_getrandom, &value, sizeof(value), GRND_NONBLOCK) == (long)sizeof(value))
		return value;
	return system_now() ^ ((uint64_t)getpid() << 40);
}

/* The base of the first thread's stack, private to the C library. */
extern void *__libc_stack_end __attribute__((weak));

/* Avoids pthread_getattr_np(), which would read a file for the first thread. */
static uintptr_t first_stack_base(void)
{
	const uintptr_t close = 1 << 20; /* other stacks are farther away */
	uintptr_t here = (uintptr_t)__builtin_frame_address(0);
	uintptr_t base = &__libc_stack_end ? (uintptr_t)__libc_stack_end : 0;

	return here < base && base - here < close ? base : 0;
}

uintptr_t system_stack_base(void)
{
	uintptr_t base = first_stack_base();
	pthread_attr_t attributes;
	void *stack;
	size_t size;

	if (base || getpid() == syscall(SYS_gettid) ||
	    pthread_getattr_np(pthread_self(), &attributes))
		return base;
	if (!pthread_attr_getstack(&attributes, &stack, &size))
		base = (uintptr_t)stack + size;
	pthread_attr_destroy(&attributes);
	return base;
}
