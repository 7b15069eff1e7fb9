/* SPDX-License-Identifier: BSD-2-Clause */
/* walk.c: tests of the stack walkers, on images of memory made for them. */
#include "test.h"

/* The walkers' memory: words from IMAGE_BASE on; all else cannot be read. */
#define IMAGE_BASE  UINT64_C(0x7ffd00000000)
#define IMAGE_WORDS 8192

static uint64_t image[IMAGE_WORDS];
static uint64_t image_end = IMAGE_BASE + sizeof(image);

struct walk_window;

static long walk_read(struct walk_window *window, void *to, uint32_t size, uint64_t from)
{
	(void)window;
	if (from < IMAGE_BASE || from > image_end || size > image_end - from)
		return -14;
	memcpy(to, (const char *)image + (from - IMAGE_BASE), size);
	return 0;
}

#include "../../bpf/walk_managed.h"
#include "../../bpf/walk_native.h"

static uint64_t at(unsigned word)
{
	return IMAGE_BASE + 8 * (uint64_t)word;
}

static void put_record(unsigned word, uint64_t caller_frame, uint64_t return_address)
{
	image[word] = caller_frame;
	image[word + 1] = return_address;
}

static void put_frame(unsigned word, uint64_t prev, uint32_t code, uint32_t pc)
{
	struct gc_frame frame = {.prev = prev, .code = code, .pc = pc};

	memcpy(&image[word], &frame, sizeof(frame));
}

struct native_walk {
	struct event_native frames[STACK_DEPTH_MAX + 1];
	unsigned count;
	uint32_t quality;
};

/* The loop that the kernel side has. */
static struct native_walk native(uint64_t ip, uint64_t sp, uint64_t bp)
{
	struct native_walk result = {.count = 0};
	struct walk_native walk;

	walk_native_begin(&walk, ip, sp, bp);
	for (unsigned i = 0; i < STACK_DEPTH_MAX; i++) {
		if (!walk_native_get(&walk, &result.frames[i]))
			break;
		if (!walk_native_up(&walk, NULL))
			break;
	}
	result.count = walk.count;
	result.quality = walk.quality;
	return result;
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

TEST(native_chain_to_the_end)
{
	struct native_walk walk;

	put_record(10, at(20), 0x401111);
	put_record(20, at(30), 0x402222);
	put_record(30, 0, 0x403333);
	walk = native(0x400000, at(4), at(10));
	CHECK_EQ(walk.count, 4);
	CHECK_EQ(walk.quality, 0);
	CHECK_EQ(walk.frames[0].ip, 0x400000);
	CHECK_EQ(walk.frames[0].frame, at(10));
	CHECK_EQ(walk.frames[1].ip, 0x401111);
	CHECK_EQ(walk.frames[1].frame, at(20));
	CHECK_EQ(walk.frames[3].ip, 0x403333);
	CHECK_EQ(walk.frames[3].frame, 0);
}

TEST(native_return_address_zero_is_an_end)
{
	struct native_walk walk;

	put_record(10, at(20), 0);
	walk = native(0x400000, at(4), at(10));
	CHECK_EQ(walk.count, 1);
	CHECK_EQ(walk.quality, 0);
}

TEST(native_without_instruction_fails)
{
	struct native_walk walk = native(0, at(4), at(10));

	CHECK_EQ(walk.count, 0);
	CHECK_EQ(walk.quality, STACK_USER_FAILED);
}

TEST(native_cycle_ends)
{
	struct native_walk walk;

	put_record(10, at(20), 0x401111);
	put_record(20, at(10), 0x402222);
	walk = native(0x400000, at(4), at(10));
	CHECK_EQ(walk.count, 3);
	CHECK_EQ(walk.quality, STACK_USER_END);

	put_record(10, at(10), 0x401111);
	walk = native(0x400000, at(4), at(10));
	CHECK_EQ(walk.count, 2);
	CHECK_EQ(walk.quality, STACK_USER_END);
}

TEST(native_frame_that_overlaps_its_callee_ends)
{
	struct native_walk walk;

	put_record(10, at(11), 0x401111);
	walk = native(0x400000, at(4), at(10));
	CHECK_EQ(walk.count, 2);
	CHECK_EQ(walk.quality, STACK_USER_END);
}

TEST(native_frame_below_the_stack_pointer_ends)
{
	struct native_walk walk;

	put_record(10, 0, 0x401111);
	walk = native(0x400000, at(11), at(10));
	CHECK_EQ(walk.count, 1);
	CHECK_EQ(walk.quality, STACK_USER_END);
}

TEST(native_misaligned_or_unreadable_ends)
{
	struct native_walk walk;

	walk = native(0x400000, at(4), at(10) + 4);
	CHECK_EQ(walk.count, 1);
	CHECK_EQ(walk.quality, STACK_USER_END);

	walk = native(0x400000, at(4), image_end - 8);
	CHECK_EQ(walk.count, 1);
	CHECK_EQ(walk.quality, STACK_USER_END);

	put_record(10, at(20), UINT64_C(0xffffffff81000000));
	walk = native(0x400000, at(4), at(10));
	CHECK_EQ(walk.count, 1);
	CHECK_EQ(walk.quality, STACK_USER_END);

	put_record(10, UINT64_MAX - 7, 0x401111);
	walk = native(0x400000, at(4), at(10));
	CHECK_EQ(walk.count, 2);
	CHECK_EQ(walk.quality, STACK_USER_END);
}

static void put_native_chain(unsigned records)
{
	for (unsigned i = 0; i < records; i++)
		put_record(10 + 4 * i, i + 1 < records ? at(14 + 4 * i) : 0, 0x401000 + i);
}

TEST(native_depth_is_cut)
{
	struct native_walk walk;

	put_native_chain(STACK_DEPTH_MAX - 1);
	walk = native(0x400000, at(4), at(10));
	CHECK_EQ(walk.count, STACK_DEPTH_MAX);
	CHECK_EQ(walk.quality, 0);
	put_native_chain(STACK_DEPTH_MAX);
	walk = native(0x400000, at(4), at(10));
	CHECK_EQ(walk.count, STACK_DEPTH_MAX);
	CHECK_EQ(walk.quality, STACK_USER_CUT);
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

/* Whatever the memory holds: the walks end, stay in their bounds and go upwards. */
TEST(random_memory)
{
	uint64_t state = test_seed();

	for (int round = 0; round < 20000; round++) {
		struct native_walk native_result;
		struct managed_walk managed_result;

		for (unsigned word = 0; word < 64; word++) {
			uint64_t r = test_random(&state);
			image[word] = r % 3 ? at((unsigned)(r >> 8) % 64) + (r % 7 ? 0 : 1)
					    : (r >> 8) % 4096;
		}
		native_result = native(0x400000, at(0), at((unsigned)(test_random(&state) % 64)));
		managed_result = managed(at((unsigned)(test_random(&state) % 64)));
		CHECK(native_result.count >= 1 && native_result.count <= STACK_DEPTH_MAX);
		CHECK(managed_result.count <= MANAGED_DEPTH_MAX);
		/* A frame that was handed out but not read yet may be anything: leave out the last.
		 */
		for (unsigned i = 1; i + 1 < native_result.count; i++)
			CHECK(native_result.frames[i].frame >=
			      native_result.frames[i - 1].frame + 16);
		for (unsigned i = 0; i < managed_result.count; i++)
			CHECK(managed_result.frames[i].address % 8 == 0 &&
			      managed_result.frames[i].code != 0);
	}
}
