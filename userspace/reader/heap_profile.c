// SPDX-License-Identifier: BSD-2-Clause
/* heap_profile.c: answers READ_HEAP: a program's own heap profile. */
#include "reader.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "../runtimes/go/buckets.h"
#include "remote_memory.h"

#define BYTES_SANE (UINT64_C(1) << 56)
#define RATE_USUAL (512 << 10) /* if the program's sampler is off now */

struct walk {
	uint64_t rate;
	bool published; /* anything was published */
	bool put;       /* this is the second pass */
	size_t bytes;
};

static void put_place(void *context, const struct go_bucket *bucket)
{
	struct walk *walk = context;
	const struct go_counts *counts = walk->published ? &bucket->published : &bucket->all;
	struct heap_place place = {.objects = counts->allocs - counts->frees,
				   .bytes = counts->alloc_bytes - counts->free_bytes,
				   .all_objects = counts->allocs,
				   .all_bytes = counts->alloc_bytes,
				   .rate = walk->rate,
				   .depth = bucket->depth};

	walk->bytes += sizeof(place) + bucket->depth * sizeof(uint64_t);
	if (!place.all_objects || walk->bytes > HEAP_ANSWER_MAX)
		return;
	wire_put(&place, sizeof(place));
	wire_put(bucket->stack, bucket->depth * sizeof(uint64_t));
}

static void note_published(void *context, const struct go_bucket *bucket)
{
	struct walk *walk = context;

	walk->published |= bucket->published.allocs != 0;
}

/* Like runtime.MemProfile: before the first collection nothing is published, and all samples count.
 */
static int read_profile(struct remote *memory, const struct heap_request *wanted)
{
	struct walk walk = {.rate = 0};
	int count;

	if (!remote_read_all(memory, wanted->rate, &walk.rate, sizeof(walk.rate)))
		return -ESRCH;
	if (!walk.rate || walk.rate >= BYTES_SANE)
		walk.rate = RATE_USUAL;
	count = go_buckets_read(memory, wanted->list, note_published, &walk);
	if (count >= 0)
		count = go_buckets_read(memory, wanted->list, put_place, &walk);
	return count < 0 ? count : 0;
}

int heap_answer(struct request *request)
{
	struct remote *memory = NULL;
	struct heap_request wanted;
	int err = -EBADMSG;

	if (request->files.n == 1 && request->head.size == sizeof(wanted)) {
		memcpy(&wanted, request->data, sizeof(wanted));
		err = remote_open(request->files.fds[0], &memory);
		if (!err)
			err = read_profile(memory, &wanted);
		if (memory && remote_error(memory))
			err = remote_error(memory);
		remote_close(memory);
	}
	for (size_t i = 0; i < request->files.n; i++)
		close(request->files.fds[i]);
	return err;
}

int heap_take(const void *data, size_t size, heap_visit *visit, void *context)
{
	const char *at = data;
	uint64_t stack[HEAP_DEPTH_MAX];
	struct heap_place place;

	while (size) {
		if (size < sizeof(place))
			return -EBADMSG;
		memcpy(&place, at, sizeof(place));
		at += sizeof(place);
		size -= sizeof(place);
		if (place.depth > HEAP_DEPTH_MAX || size < place.depth * sizeof(*stack) ||
		    !place.rate || place.rate >= BYTES_SANE || place.all_bytes >= BYTES_SANE ||
		    place.bytes > place.all_bytes || place.objects > place.all_objects ||
		    place.all_objects > place.all_bytes)
			return -EBADMSG;
		memcpy(stack, at, place.depth * sizeof(*stack));
		at += place.depth * sizeof(*stack);
		size -= place.depth * sizeof(*stack);
		visit(context, &place, stack);
	}
	return 0;
}
