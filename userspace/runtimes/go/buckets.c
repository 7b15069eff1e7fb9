// SPDX-License-Identifier: BSD-2-Clause
/* buckets.c: reads a Go program's own heap profile from its memory; in the confined reader. */
/*
 * A bucket is a header, a stack of `depth` words, and counts: published ones, and those of three
 * cycles not yet published. This holds for 1.19 to 1.26; go_file_buckets() has checked it.
 */
#include "buckets.h"

#include <errno.h>
#include <stdbool.h>

#include "../../reader/remote_memory.h"

#define DEEPEST    1024 /* greatest stack depth that Go keeps (GODEBUG=profstackdepth) */
#define KIND_HEAP  1
#define CYCLES     3
#define COUNTS_MAX (UINT64_C(1) << 56)

struct header {
	uint64_t next, all_next, kind, hash, size, depth;
};

static void go_buckets_add(struct go_counts *sum, const struct go_counts *more)
{
	sum->allocs += more->allocs;
	sum->frees += more->frees;
	sum->alloc_bytes += more->alloc_bytes;
	sum->free_bytes += more->free_bytes;
}

static bool make_sense(const struct go_counts *counts)
{
	return counts->allocs < COUNTS_MAX && counts->alloc_bytes < COUNTS_MAX &&
	       counts->frees <= counts->allocs && counts->free_bytes <= counts->alloc_bytes;
}

/* Allocations between two reads can at worst make frees exceed allocations. */
static bool read_bucket(struct remote *memory, uint64_t at, const struct header *header,
			struct go_bucket *bucket)
{
	struct go_counts counts[1 + CYCLES];

	if (header->kind != KIND_HEAP || !header->size || header->depth > DEEPEST)
		return false;
	bucket->depth = header->depth < GO_DEPTH_MAX ? (uint32_t)header->depth : GO_DEPTH_MAX;
	at += sizeof(*header);
	if (!remote_read_all(memory, at, bucket->stack, bucket->depth * sizeof(uint64_t)) ||
	    !remote_read_all(memory, at + header->depth * sizeof(uint64_t), counts, sizeof(counts)))
		return false;
	bucket->published = bucket->all = counts[0];
	for (int i = 1; i <= CYCLES; i++)
		go_buckets_add(&bucket->all, &counts[i]);
	return true;
}

int go_buckets_read(struct remote *memory, uint64_t list, go_bucket_visit *visit, void *context)
{
	struct go_bucket bucket = {.depth = 0};
	struct header header;
	uint64_t at;
	int count = 0;

	if (!remote_read_all(memory, list, &at, sizeof(at)))
		return -ESRCH;
	for (; at && count < GO_BUCKETS_MAX; at = header.all_next) {
		if (at % sizeof(at) || !remote_read_all(memory, at, &header, sizeof(header)) ||
		    !read_bucket(memory, at, &header, &bucket))
			return -EBADMSG;
		count++;
		if (make_sense(&bucket.published) && make_sense(&bucket.all))
			visit(context, &bucket);
	}
	return count;
}
