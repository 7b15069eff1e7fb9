/* SPDX-License-Identifier: BSD-2-Clause */
/* system.h: all use of the operating system by the provider library. */
#ifndef GCPROF_PROVIDER_SYSTEM_H
#define GCPROF_PROVIDER_SYSTEM_H

#include <stddef.h>
#include <stdint.h>

#define MS UINT64_C(1000000) /* ns */

/* Maps fresh zeroed memory; the system supplies pages when they are touched. NULL: refused. */
void *system_map(size_t size);

/* Unmaps a whole mapping of system_map(). NULL is allowed. */
void system_unmap(void *memory, size_t size);

/* Drops the content of whole pages, which read as zero afterwards. */
void system_release(void *memory, size_t size);

/* CLOCK_MONOTONIC in nanoseconds. */
uint64_t system_now(void);

/* An unpredictable number; falls back to the clock while the system has no randomness. */
uint64_t system_random(void);

/* The end address of the calling thread's stack, which grows down from there; 0: unknown. */
uintptr_t system_stack_base(void);

#endif
