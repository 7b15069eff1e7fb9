/* SPDX-License-Identifier: BSD-2-Clause */
/* go_buckets.h: reads a Go program's own heap profile out of its memory; in the confined reader. */
#ifndef GCPROF_GO_BUCKETS_H
#define GCPROF_GO_BUCKETS_H

#include <stddef.h>
#include <stdint.h>

#define GO_BUCKETS_MAX (1 << 16) /* places that allocate; more are left out */
#define GO_DEPTH_MAX   128

struct remote;

/* What was sampled at a place since the program began. */
struct go_counts {
	uint64_t allocs, frees, alloc_bytes, free_bytes;
};

struct go_bucket {
	struct go_counts published; /* as of the cycle before the last one, as in Go's profiles */
	struct go_counts all;       /* and of what came since */
	uint32_t depth;
	uint32_t reserved;
	uint64_t stack[GO_DEPTH_MAX]; /* return addresses, innermost first */
};

typedef void go_bucket_visit(void *context, const struct go_bucket *bucket);

/*
 * `memory` is read while the program runs; `list`: where runtime.mbuckets is. Buckets
 * are never freed, so the walk is safe; it ends at the first that makes no sense, and before
 * GO_BUCKETS_MAX. How many there were, or -EBADMSG: one made no sense, -ESRCH: the memory is gone.
 */
int go_buckets_read(struct remote *memory, uint64_t list, go_bucket_visit *visit, void *context);

#endif
