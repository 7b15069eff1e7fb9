/* SPDX-License-Identifier: BSD-2-Clause */
/* system.h: everything the provider asks of the operating system. */
#ifndef GCPROF_PROVIDER_SYSTEM_H
#define GCPROF_PROVIDER_SYSTEM_H

#include <stddef.h>
#include <stdint.h>

/* Fresh zeroed memory, given by the system page by page as it is touched. NULL: refused. */
void *system_map(size_t size);

/* Gives back what system_map() returned, whole. NULL is allowed. */
void system_unmap(void *memory, size_t size);

/* Drops the content of whole pages: they read as zero afterwards. */
void system_release(void *memory, size_t size);

/* CLOCK_MONOTONIC in nanoseconds. */
uint64_t system_now(void);

/* Unpredictable; falls back to the clock when the system has no randomness yet. */
uint64_t system_random(void);

/* The address just behind the calling thread's stack, which begins below it; 0: unknown. */
uintptr_t system_stack_base(void);

#endif
