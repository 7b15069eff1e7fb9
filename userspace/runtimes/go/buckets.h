/* SPDX-License-Identifier: BSD-2-Clause */
/* buckets.h: reads a Go program's own heap profile from its memory; in the confined reader. */
#ifndef GCPROF_GO_BUCKETS_H
#define GCPROF_GO_BUCKETS_H

#include <stddef.h>
#include <stdint.h>

#define GO_BUCKETS_MAX (1 << 16) /* allocation sites; more are dropped */
#define GO_DEPTH_MAX   128

struct remote;

/* Samples of a site since the program began. */
struct go_counts {
	uint64_t allocs, frees, alloc_bytes, free_bytes;
};

struct go_bucket {
	struct go_counts published; /* as of the last cycle but one, as in Go's profiles */
	struct go_counts all;       /* including everything since */
	uint32_t depth;
	uint32_t reserved;
	uint64_t stack[GO_DEPTH_MAX]; /* return addresses, innermost first */
};

typedef void go_bucket_visit(void *context, const struct go_bucket *bucket);

/*
 * Reads `memory` while the program runs; `list` is the address of runtime.mbuckets. Buckets are
 * never freed, so the walk is safe; it ends at the first malformed one or at GO_BUCKETS_MAX.
 * Returns their number, or -EBADMSG: one was malformed, -ESRCH: the memory is gone.
 */
int go_buckets_read(struct remote *memory, uint64_t list, go_bucket_visit *visit, void *context);

#endif
