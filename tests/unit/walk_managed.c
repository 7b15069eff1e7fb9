/* SPDX-License-Identifier: BSD-2-Clause */
/* walk_managed.c: tests of the walker of shadow stacks. */
#include "walk_memory.h"

#include "../../bpf/walk_managed.h"

static void put_frame(unsigned word, uint64_t prev, uint32_t code, uint32_t pc)
{
	struct gc_frame frame = {.prev = prev, .code = code, .pc = pc};

	memcpy(&image[word], &frame, sizeof(frame));
}

struct managed_walk {
	struct event_managed frames[MANAGED_DEPTH_MAX + 1];
	unsigned count;
	uint32_t quality;
};

static struct managed_walk managed(uint64_t anchor)
{
	struct managed_walk result = {.count = 0};
	struct walk_managed walk;

	walk_managed_begin(&walk, anchor);
	for (unsigned i = 0; i <= MANAGED_DEPTH_MAX; i++) {
		struct event_managed frame;
		int found = walk_managed_next(&walk, NULL, &frame);

		if (found < 0)
			break;
		if (found)
			result.frames[walk.count - 1] = frame;
	}
	result.count = walk.count;
	result.quality = walk.quality;
	return result;
}

TEST(managed_chain_skips_frames_of_roots)
{
	struct managed_walk walk;

	image[2] = at(10);
	put_frame(10, at(20), 7, 70);
	put_frame(20, at(30), 0, 0);
	put_frame(30, 0, 9, 90);
	walk = managed(at(2));
	CHECK_EQ(walk.count, 2);
	CHECK_EQ(walk.quality, 0);
	CHECK_EQ(walk.frames[0].address, at(10));
	CHECK_EQ(walk.frames[0].code, 7);
	CHECK_EQ(walk.frames[0].pc, 70);
	CHECK_EQ(walk.frames[1].address, at(30));
	CHECK_EQ(walk.frames[1].code, 9);
}

TEST(managed_empty)
{
	image[2] = 0;
	CHECK_EQ(managed(at(2)).count, 0);
	CHECK_EQ(managed(at(2)).quality, 0);
	CHECK_EQ(managed(0).count, 0);
	CHECK_EQ(managed(0).quality, 0);
}

TEST(managed_torn)
{
	struct managed_walk walk;

	/* The anchor itself cannot be read. */
	walk = managed(0x1000);
	CHECK_EQ(walk.count, 0);
	CHECK_EQ(walk.quality, STACK_MANAGED_TORN);

	/* A cycle, a frame inside its callee, a misaligned one, one outside. */
	uint64_t bad[] = {at(10), at(12), at(20) + 4, image_end - 8, 0x1000, UINT64_MAX};
	for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		image[2] = at(10);
		put_frame(10, bad[i], 7, 70);
		walk = managed(at(2));
		CHECK_EQ(walk.count, 1);
		CHECK_EQ(walk.quality, STACK_MANAGED_TORN);
	}
}

/* Two frames of functions that the compiler made one of. */
TEST(managed_frames_of_one_native_frame_in_any_order)
{
	struct managed_walk walk;

	image[2] = at(20);
	put_frame(20, at(10), 7, 70);
	put_frame(10, at(30), 8, 80);
	put_frame(30, 0, 9, 90);
	walk = managed(at(2));
	CHECK_EQ(walk.count, 3);
	CHECK_EQ(walk.quality, 0);
	CHECK_EQ(walk.frames[1].code, 8);
	CHECK_EQ(walk.frames[2].code, 9);

	/* Too far back for that. */
	image[2] = at(20 + WALK_BACK_BYTES / 8);
	put_frame(20 + WALK_BACK_BYTES / 8, at(19), 7, 70);
	put_frame(19, 0, 8, 80);
	walk = managed(at(2));
	CHECK_EQ(walk.count, 1);
	CHECK_EQ(walk.quality, STACK_MANAGED_TORN);
}

TEST(managed_cycle_ends)
{
	struct managed_walk walk;

	image[2] = at(10);
	put_frame(10, at(20), 7, 70);
	put_frame(20, at(10), 8, 80);
	walk = managed(at(2));
	CHECK_EQ(walk.count, 2 + WALK_BACK_STEPS);
	CHECK_EQ(walk.quality, STACK_MANAGED_TORN);
}

static void put_managed_chain(unsigned frames)
{
	image[2] = at(10);
	for (unsigned i = 0; i < frames; i++)
		put_frame(10 + 4 * i, i + 1 < frames ? at(14 + 4 * i) : 0, 1 + i, i);
}

TEST(managed_depth_is_cut)
{
	struct managed_walk walk;

	put_managed_chain(MANAGED_DEPTH_MAX);
	walk = managed(at(2));
	CHECK_EQ(walk.count, MANAGED_DEPTH_MAX);
	CHECK_EQ(walk.quality, 0);
	put_managed_chain(MANAGED_DEPTH_MAX + 1);
	walk = managed(at(2));
	CHECK_EQ(walk.count, MANAGED_DEPTH_MAX);
	CHECK_EQ(walk.quality, STACK_MANAGED_CUT);
}

/* Whatever the memory holds: as in walk.c. */
TEST(random_memory)
{
	uint64_t state = test_seed();

	for (int round = 0; round < 20000; round++) {
		struct managed_walk walk;

		put_random_words(&state);
		walk = managed(at((unsigned)(test_random(&state) % 64)));
		CHECK(walk.count <= MANAGED_DEPTH_MAX);
		for (unsigned i = 0; i < walk.count; i++)
			CHECK(walk.frames[i].address % 8 == 0 && walk.frames[i].code != 0);
	}
}
