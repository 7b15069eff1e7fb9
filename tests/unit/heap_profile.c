// SPDX-License-Identifier: BSD-2-Clause
/* heap_profile.c: tests of heap profiles in the memory of programs, right, wrong and endless. */
/* Plain: workers have their limits only without sanitizers. */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

#include "model/world/estimate.h"
#include "reader/reader.h"
#include "reader/remote_memory.h"
#include "record/opener/opener_process.h"
#include "runtimes/go/buckets.h"
#include "test.h"

struct bucket {
	const struct bucket *next, *all_next;
	uint64_t kind, hash, size, depth;
	uint64_t stack[2];
	struct go_counts counts[4];
};

static struct bucket buckets[3];
static const struct bucket *list;

static void make_buckets(void)
{
	for (uint64_t i = 0; i < 3; i++) {
		buckets[i] = (struct bucket){
			.all_next = i < 2 ? &buckets[i + 1] : NULL,
			.kind = 1,
			.size = 48,
			.depth = 2,
			.stack = {0x1000 + i, 0x2000},
			.counts = {{10, 4, 480, 192}, {5, 1, 240, 48}, {0}, {1, 0, 48, 0}}};
	}
	list = &buckets[0];
}

struct seen {
	int count;
	struct go_bucket last;
};

static void see(void *context, const struct go_bucket *bucket)
{
	struct seen *seen = context;

	seen->count++;
	seen->last = *bucket;
}

static int read_own(struct seen *seen)
{
	int file = open("/proc/self/mem", O_RDONLY | O_CLOEXEC),
	    socket = opener_serve_space(file, (uint32_t)getpid(), 0), got;
	struct remote *memory;

	CHECK(file >= 0 && socket >= 0);
	CHECK_EQ(remote_open(socket, &memory), 0);
	*seen = (struct seen){0};
	got = go_buckets_read(memory, (uint64_t)(uintptr_t)&list, see, seen);
	remote_close(memory);
	close(socket);
	close(file);
	return got;
}

TEST(buckets_are_read_out_of_memory)
{
	struct seen seen;

	make_buckets();
	CHECK_EQ(read_own(&seen), 3);
	CHECK_EQ(seen.count, 3);
	CHECK_EQ(seen.last.depth, 2);
	CHECK_EQ(seen.last.stack[0], 0x1002);
	CHECK_EQ(seen.last.published.allocs, 10);
	CHECK_EQ(seen.last.all.allocs, 16);
	CHECK_EQ(seen.last.all.frees, 5);
	CHECK_EQ(seen.last.all.alloc_bytes, 768);
}

TEST(what_makes_no_sense_is_not_read)
{
	struct seen seen;

	make_buckets();
	buckets[1].kind = 2;
	CHECK_EQ(read_own(&seen), -EBADMSG);
	make_buckets();
	buckets[1].depth = 1u << 20;
	CHECK_EQ(read_own(&seen), -EBADMSG);
	make_buckets();
	buckets[1].all_next = (const void *)(uintptr_t)8;
	CHECK_EQ(read_own(&seen), -EBADMSG);
	CHECK_EQ(seen.count, 2);
	make_buckets();
	buckets[1].counts[0].frees = 11;
	CHECK_EQ(read_own(&seen), 3);
	CHECK_EQ(seen.count, 2);
}

TEST(a_circle_ends)
{
	struct seen seen;

	make_buckets();
	buckets[2].all_next = &buckets[0];
	CHECK_EQ(read_own(&seen), GO_BUCKETS_MAX);
}

static void count_place(void *context, const struct heap_place *place, const uint64_t *stack)
{
	(void)place;
	(void)stack;
	++*(int *)context;
}

TEST(answers_are_not_believed)
{
	struct {
		struct heap_place place;
		uint64_t stack[2];
	} answer = {{.objects = 1,
		     .bytes = 16,
		     .all_objects = 2,
		     .all_bytes = 32,
		     .rate = 512,
		     .depth = 2},
		    {1, 2}};
	int count = 0;

	CHECK_EQ(heap_take(&answer, sizeof(answer), count_place, &count), 0);
	CHECK_EQ(count, 1);
	CHECK_EQ(heap_take(&answer, sizeof(answer) - 1, count_place, &count), -EBADMSG);
	answer.place.depth = HEAP_DEPTH_MAX + 1;
	CHECK_EQ(heap_take(&answer, sizeof(answer), count_place, &count), -EBADMSG);
	answer.place.depth = 2;
	answer.place.rate = 0;
	CHECK_EQ(heap_take(&answer, sizeof(answer), count_place, &count), -EBADMSG);
	answer.place.rate = 512;
	answer.place.bytes = 33;
	CHECK_EQ(heap_take(&answer, sizeof(answer), count_place, &count), -EBADMSG);
	CHECK_EQ(count, 1);
}

TEST(sampled_objects_stand_for_more)
{
	struct heap_estimate estimate = heap_estimate(10, 480, 524288);

	CHECK(fabs(estimate.bytes - 480 / (1 - exp(-48.0 / 524288))) < 1);
	CHECK(fabs(estimate.objects - estimate.bytes / 48) < 1e-6);
	/* Ten samples: as uncertain as ten. */
	CHECK(fabs(sqrt(estimate.live.variance) / estimate.live.value - sqrt(1.0 / 10)) < 1e-3);
	CHECK(estimate.live.value == estimate.bytes);
	CHECK(heap_estimate(10, 480, 1).bytes == 480 &&
	      heap_estimate(10, 480, 1).live.variance == 0);
	CHECK(heap_estimate(0, 480, 512).bytes == 0);
}
