// SPDX-License-Identifier: BSD-2-Clause
/* walk_cpython.c: tests of the walker of Python frames, on an interpreter's memory made for them.
 */
#include "walk_rig.h"

#define cpython_read memory_read

#include "../../bpf/walk_cpython.h"

/* Where things lie, as distances from MEMORY; offsets of this interpreter. */
enum {
	RUNTIME = 0x100,
	INTERPRETER = 0x200,
	THREAD = 0x300,
	TYPE = 0x800,
	CODE = 0x1000,
	FRAMES = 0x10000,
	CFRAMES = 0x70000,
	FRAME_SIZE = 96,
};

static struct walk_cpython walk;

/* `owned`: as 3.12 and later, else as 3.11. */
static void make_interpreter(bool owned)
{
	static const uint16_t at[CPYTHON_ITEMS] = {
		[CPYTHON_INTERPRETERS] = 8,     [CPYTHON_INTERPRETER_NEXT] = 0,
		[CPYTHON_THREADS] = 16,         [CPYTHON_THREAD_NEXT] = 8,
		[CPYTHON_THREAD_ID] = 24,       [CPYTHON_THREAD_CFRAME] = 32,
		[CPYTHON_THREAD_FRAME] = 40,    [CPYTHON_CFRAME_FRAME] = 8,
		[CPYTHON_CFRAME_PREVIOUS] = 16, [CPYTHON_FRAME_CODE] = 32,
		[CPYTHON_FRAME_PREVIOUS] = 48,  [CPYTHON_FRAME_INSTRUCTION] = 56,
		[CPYTHON_FRAME_ENTRY] = 68,     [CPYTHON_FRAME_OWNER] = 69,
		[CPYTHON_CODE_LINE] = 72,       [CPYTHON_CODE_FILE] = 112,
		[CPYTHON_CODE_NAME] = 128,      [CPYTHON_CODE_TABLE] = 136,
		[CPYTHON_CODE_BYTECODE] = 184,  [CPYTHON_TYPE] = 8,
	};

	memset(words, 0, sizeof(words));
	memset(&walk, 0, sizeof(walk));
	memcpy(walk.layout.at, at, sizeof(at));
	walk.layout.at[owned ? CPYTHON_THREAD_CFRAME : CPYTHON_THREAD_FRAME] = CPYTHON_NONE;
	walk.layout.at[CPYTHON_THREAD_BASE] = CPYTHON_NONE;
	walk.layout.at[owned ? CPYTHON_FRAME_ENTRY : CPYTHON_FRAME_OWNER] = CPYTHON_NONE;
	walk.layout.runtime = RUNTIME;
	walk.layout.code_type = TYPE;
	walk.bias = MEMORY;
	put(RUNTIME + 8, MEMORY + INTERPRETER);
	put(INTERPRETER + 16, MEMORY + THREAD);
	put(THREAD + 24, 77);
	put(CODE + 8, MEMORY + TYPE);
	put(CODE + 72, 5);
}

static uint64_t frame_at(unsigned number)
{
	return FRAMES + number * FRAME_SIZE;
}

/* Frame `number`, whose caller is the next one; `mark`: of 3.11 it is an entry, later an owner. */
static void put_frame(unsigned number, uint64_t instruction, bool mark, bool owned)
{
	uint64_t frame = frame_at(number);

	put(frame + 32, MEMORY + CODE);
	put(frame + 48, MEMORY + frame_at(number + 1));
	put(frame + 56, MEMORY + CODE + 184 + 2 * instruction);
	if (mark)
		put(frame + 64, owned ? (uint64_t)CPYTHON_OWNER_C << 40 : UINT64_C(1) << 32);
}

static bool search(uint64_t id)
{
	cpython_search_begin(&walk);
	for (int i = 0; i < 10; i++)
		if (cpython_search(&walk, id))
			return walk.found[0] != 0;
	return false;
}

TEST(a_thread_is_found_in_any_interpreter)
{
	make_interpreter(false);
	put(INTERPRETER, MEMORY + INTERPRETER + 0x40);
	put(INTERPRETER + 0x40 + 16, MEMORY + THREAD + 0x40);
	put(THREAD + 0x40 + 8, MEMORY + THREAD + 0x80);
	put(THREAD + 0x80 + 24, 88);
	CHECK(search(88));
	CHECK_EQ(walk.found[0], MEMORY + THREAD + 0x80);
	CHECK_EQ(walk.found[1], 0);
	CHECK(search(77));
	CHECK_EQ(walk.found[0], MEMORY + THREAD);
	CHECK_EQ(walk.found[1], 0);
	CHECK(!search(99));
	/* It has entered the second one from the first, which is the older. */
	put(THREAD + 0x80 + 24, 77);
	put(RUNTIME + 8, MEMORY + INTERPRETER + 0x40);
	put(INTERPRETER + 0x40, MEMORY + INTERPRETER);
	put(INTERPRETER, 0);
	CHECK(search(77));
	CHECK_EQ(walk.found[0], MEMORY + THREAD + 0x80);
	CHECK_EQ(walk.found[1], MEMORY + THREAD);
}

TEST(a_state_belongs_to_the_thread_on_whose_stack_it_runs)
{
	make_interpreter(false);
	walk.stack = MEMORY + CFRAMES;
	walk.stack_size = 0x1000;
	put(THREAD + 32, MEMORY + CFRAMES + 0xff8);
	CHECK(search(99));
	CHECK_EQ(walk.found[0], MEMORY + THREAD);
	put(THREAD + 32, MEMORY + CFRAMES + 0x1000);
	CHECK(!search(77));
	put(THREAD + 32, 0);
	CHECK(!search(77));
}

/* Two activations: frames 0 and 1 (the entry) in that at CFRAMES, frame 2 in that behind it. */
static void make_311(void)
{
	make_interpreter(false);
	put(THREAD + 32, MEMORY + CFRAMES);
	put(CFRAMES + 8, MEMORY + frame_at(0));
	put(CFRAMES + 16, MEMORY + CFRAMES + 0x100);
	put(CFRAMES + 0x100 + 8, MEMORY + frame_at(2));
	put(CFRAMES + 0x100 + 16, MEMORY + CFRAMES + 0x200);
	put_frame(0, 7, false, false);
	put_frame(1, 8, true, false);
	put_frame(2, 9, true, false);
	put(frame_at(2) + 48, 0);
	CHECK(search(77));
	cpython_begin(&walk);
}

TEST(frames_of_311_lie_where_their_activation_does)
{
	uint64_t address;

	make_311();
	CHECK_EQ(cpython_next(&walk, &address), 2);
	CHECK_EQ(address, MEMORY + CFRAMES);
	CHECK_EQ(walk.instruction, 7);
	CHECK_EQ(cpython_code_line(&walk), 5);
	CHECK_EQ(cpython_next(&walk, &address), 2);
	CHECK_EQ(address, MEMORY + CFRAMES);
	CHECK_EQ(cpython_next(&walk, &address), 2);
	CHECK_EQ(address, MEMORY + CFRAMES + 0x100);
	CHECK_EQ(walk.instruction, 9);
	CHECK_EQ(cpython_next(&walk, &address), -1);
	CHECK_EQ(walk.quality, 0);
}

TEST(an_interpreter_is_followed_by_the_one_that_entered_it)
{
	uint64_t address;

	make_311();
	walk.found[1] = MEMORY + THREAD + 0x100;
	put(THREAD + 0x100 + 32, MEMORY + CFRAMES + 0x300);
	put(CFRAMES + 0x300 + 8, MEMORY + frame_at(3));
	put_frame(3, 6, true, false);
	put(frame_at(3) + 48, 0);
	for (int i = 0; i < 3; i++)
		CHECK_EQ(cpython_next(&walk, &address), 2);
	CHECK_EQ(cpython_next(&walk, &address), 0);
	CHECK_EQ(cpython_next(&walk, &address), 2);
	CHECK_EQ(address, MEMORY + CFRAMES + 0x300);
	CHECK_EQ(walk.instruction, 6);
	CHECK_EQ(cpython_next(&walk, &address), -1);
	CHECK_EQ(walk.quality, 0);
	CHECK_EQ(walk.count, 4);
}

TEST(later_ones_end_with_their_activation)
{
	uint64_t address;

	make_interpreter(true);
	put(THREAD + 40, MEMORY + frame_at(0));
	put_frame(0, 0, false, true);
	put_frame(1, 0, true, true);
	put(frame_at(1) + 32, 0);
	put(frame_at(1) + 48, 0);
	/* It has not run an instruction yet. */
	put(frame_at(0) + 56, MEMORY + CODE + 182);
	CHECK(search(77));
	cpython_begin(&walk);
	CHECK_EQ(cpython_next(&walk, &address), 2);
	CHECK_EQ(address, 0);
	CHECK_EQ(walk.instruction, 0);
	CHECK_EQ(cpython_next(&walk, &address), 1);
	CHECK_EQ(address, MEMORY + frame_at(1));
	CHECK_EQ(cpython_next(&walk, &address), -1);
	CHECK_EQ(walk.quality, 0);
}

TEST(a_pointer_with_flags_is_a_code_object_and_the_base_frame_ends_the_walk)
{
	uint64_t address;

	make_interpreter(true);
	walk.layout.at[CPYTHON_THREAD_BASE] = 48;
	put(THREAD + 40, MEMORY + frame_at(0));
	put_frame(0, 4, false, true);
	put(frame_at(0) + 32, (MEMORY + CODE) | 1);
	put_frame(1, 0, true, true);
	put_frame(2, 0, true, true);
	put(frame_at(2) + 48, 0);
	CHECK(search(77));
	cpython_begin(&walk);
	CHECK_EQ(cpython_next(&walk, &address), 2);
	CHECK_EQ(walk.code, MEMORY + CODE);
	CHECK_EQ(walk.instruction, 4);
	CHECK_EQ(cpython_next(&walk, &address), 1);
	CHECK_EQ(cpython_next(&walk, &address), 0);
	CHECK_EQ(cpython_next(&walk, &address), -1);
	CHECK_EQ(walk.quality, 0);
}

TEST(what_is_no_code_object_ends_the_walk)
{
	uint64_t address;

	make_311();
	put(CODE + 8, MEMORY);
	CHECK_EQ(cpython_next(&walk, &address), -1);
	CHECK_EQ(walk.quality, STACK_MANAGED_TORN);
	make_311();
	put(CFRAMES + 8, MEMORY + frame_at(0) + 4);
	cpython_begin(&walk);
	CHECK_EQ(cpython_next(&walk, &address), -1);
	CHECK_EQ(walk.quality, STACK_MANAGED_TORN);
	make_311();
	put(CFRAMES + 8, 0x1000);
	cpython_begin(&walk);
	CHECK_EQ(cpython_next(&walk, &address), -1);
	CHECK_EQ(walk.quality, STACK_MANAGED_TORN);
}

/* How many frames with a function a walk of frames that never end hands out. */
static unsigned count_endless(bool owned)
{
	unsigned count = 0;
	uint64_t address;
	int found;

	put(frame_at(0) + 48, MEMORY + frame_at(0));
	cpython_begin(&walk);
	while ((found = cpython_next(&walk, &address)) >= 0)
		count += found == 2;
	CHECK_EQ(walk.looked, owned ? CPYTHON_FRAMES_MAX + 1 : count + 1);
	CHECK_EQ(walk.quality, STACK_MANAGED_CUT);
	return count;
}

TEST(endless_frames_end)
{
	make_311();
	CHECK_EQ(count_endless(false), MANAGED_DEPTH_MAX - 1);
	make_interpreter(true);
	put(THREAD + 40, MEMORY + frame_at(0));
	put_frame(0, 0, false, true);
	CHECK(search(77));
	CHECK_EQ(count_endless(true), MANAGED_DEPTH_MAX - 1);
}

TEST(frames_beyond_the_limit_lie_where_their_activation_does)
{
	uint64_t address = 0;
	int found;

	make_interpreter(true);
	put(THREAD + 40, MEMORY + frame_at(0));
	for (unsigned i = 0; i < 600; i++)
		put_frame(i, 0, i == 599, true);
	CHECK(search(77));
	cpython_begin(&walk);
	while ((found = cpython_next(&walk, &address)) >= 0)
		if (found == 1)
			break;
	CHECK_EQ(found, 1);
	CHECK_EQ(address, MEMORY + frame_at(599));
	CHECK_EQ(cpython_next(&walk, &address), -1);
	CHECK_EQ(walk.count, MANAGED_DEPTH_MAX);
}
