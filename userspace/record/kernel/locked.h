/* SPDX-License-Identifier: BSD-2-Clause */
/* locked.h: finds programs that keep their memory maps locked. */
#ifndef GCPROF_LOCKED_H
#define GCPROF_LOCKED_H

#include <stddef.h>
#include <stdint.h>

#define LOCKED_MAX 64 /* programs; more are left out */

/* Programs whose memory map is locked now, as pids of /proc here. `iterator` is a link of the BPF
 * program locked_iterate; -1: finds none. */
size_t locked_find(int iterator, uint32_t pids[LOCKED_MAX]);

/* Keeps those of `n` programs whose map is locked now; returns their number. */
size_t locked_still(int iterator, uint32_t *pids, size_t n);

/* Programs whose map stays locked for 30 ms. Waits that long if there are any. */
size_t locked_for_long(int iterator, uint32_t pids[LOCKED_MAX]);

#endif
