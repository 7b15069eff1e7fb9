/* SPDX-License-Identifier: BSD-2-Clause */
/* kept.h: blocks of freed samples, kept for the next samples. */
/*
 * A block that begins a page is expensive: the allocator splits a larger one. So some are used
 * again, at most 16 MiB. Any thread and any signal handler may call these functions.
 */
#ifndef GCPROF_AGENTS_KEPT_H
#define GCPROF_AGENTS_KEPT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "live.h"

/* The sample of a kept block in the table of live samples. Who frees it frees it twice. */
#define KEPT_SAMPLE UINT64_MAX

/* Size to allocate for a sample, so that its block fits later ones of a similar size. */
size_t kept_size(size_t size);

/* A block of at least `size` bytes that begins a page; NULL: none, or it lacks the alignment. */
void *kept_take(size_t size, size_t alignment);

/* Keeps the block of a sample that the program freed; false: the allocator must free it. */
bool kept_put(void *block);

#endif
