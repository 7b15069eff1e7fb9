/* SPDX-License-Identifier: BSD-2-Clause */
/* locked.h: finds the programs that keep their memory maps locked. */
#ifndef GCPROF_LOCKED_H
#define GCPROF_LOCKED_H

#include <stddef.h>
#include <stdint.h>

#define LOCKED_MAX 64 /* programs; of more, others are left out */

/* Programs whose memory map is locked at this moment, as /proc calls them here. `iterator` is a
 * link of the BPF program locked_iterate; -1: none are found. */
size_t locked_find(int iterator, uint32_t pids[LOCKED_MAX]);

/* Of `n` programs those whose map is locked at this moment: how many are left. */
size_t locked_still(int iterator, uint32_t *pids, size_t n);

/* Those whose map stays locked for 30 ms: waits so long if there are any. */
size_t locked_for_long(int iterator, uint32_t pids[LOCKED_MAX]);

#endif
