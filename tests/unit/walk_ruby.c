// SPDX-License-Identifier: BSD-2-Clause
/* walk_ruby.c: tests of the walker of Ruby frames, on an interpreter's memory made for them. */
#include "walk_rig.h"

#include "../../bpf/walk_ruby.h"

/* Where things lie, as distances from MEMORY. */
enum {
	STORAGE = 0x100, /* of the thread */
	PAIR = 0x200,
	VECTOR = 0x300,
	BLOCK = 0x400,
	CONTEXT = 0x500,
	CODE = 0x800,
	BODY = 0x900,
	BYTECODE = 0xa00,
	FLAGS = 0xc00, /* of inner frames, outermost ones, C functions */
	STACK = 0x10000,
	STACK_WORDS = 8192,
	TARGETS = 0x60000,
	LOOP = 0x500000, /* code, which is not read */
	LOOP_SIZE = 0x1000,
	OTHER = LOOP + LOOP_SIZE,
	FRAME_SIZE = 64,
	TARGET_SIZE = 80,
	CODE_WORDS = 20,
};

static struct walk_ruby walk;
static unsigned n_frames, n_targets;

/* What the walk returned. */
static struct {
	uint64_t address, instruction;
} found[16];

static void make_interpreter(void)
{
	static const uint16_t at[RUBY_ITEMS] = {
		[RUBY_FRAME_BYTES] = FRAME_SIZE, [RUBY_TAG_LABEL] = 24,
		[RUBY_TAG_PREVIOUS] = 56,        [RUBY_BODY_CODE] = 8,
		[RUBY_BODY_LINE] = 88,
	};

	memset(words, 0, sizeof(words));
	memset(&walk, 0, sizeof(walk));
	memcpy(walk.layout.at, at, sizeof(at));
	walk.layout.storage = PAIR;
	walk.layout.loop = LOOP;
	walk.layout.loop_size = LOOP_SIZE;
	walk.bias = MEMORY;
	n_frames = n_targets = 0;
	put(STORAGE + 8, MEMORY + VECTOR);
	put(PAIR, 3); /* module and offset */
	put(PAIR + 8, 16);
	put(VECTOR + 3 * 16, MEMORY + BLOCK);
	put(BLOCK + 16, MEMORY + CONTEXT);
	put(CONTEXT, MEMORY + STACK);
	put(CONTEXT + 8, STACK_WORDS);
	put(CONTEXT + 16, MEMORY + STACK + STACK_WORDS * 8 - FRAME_SIZE);
	put(CODE, 0x0100701a);
	put(CODE + 16, MEMORY + BODY);
	put(BODY, (uint64_t)CODE_WORDS << 32);
	put(BODY + 8, MEMORY + BYTECODE);
	put(FLAGS + 8, RUBY_FLAG_FINISH);
	put(FLAGS + 16, RUBY_FLAG_C);
}

/* Frame `number`, from the outermost function's on, at this instruction. */
static uint64_t frame_at(unsigned number)
{
	return STACK + STACK_WORDS * 8 - FRAME_SIZE * (2 + (uint64_t)number);
}

static void call(uint64_t instruction, bool is_outermost)
{
	uint64_t frame = frame_at(n_frames++);

	put(frame, MEMORY + BYTECODE + 8 * (instruction + 1));
	put(frame + 16, MEMORY + CODE);
	put(frame + 32, MEMORY + FLAGS + 8 * is_outermost);
	put(CONTEXT + 16, MEMORY + frame);
}

/* A C function, or with `data` a block in C. */
static void call_c(uint64_t data)
{
	uint64_t frame = frame_at(n_frames++);

	put(frame + 16, data);
	put(frame + 32, MEMORY + FLAGS + 16);
	put(CONTEXT + 16, MEMORY + frame);
}

/* A jump target, left by code at `label` whose stack pointer is `stack`. */
static void aim(uint64_t label, uint64_t stack)
{
	uint64_t target = TARGETS + TARGET_SIZE * (uint64_t)n_targets++;

	put(target + 24, MEMORY + label);
	put(target + 32, stack);
	put(target + 56, n_targets > 1 ? MEMORY + target - TARGET_SIZE : 0);
	put(CONTEXT + 24, MEMORY + target);
}

static int step_through(void)
{
	int count = 0, got;

	while ((got = ruby_next(&walk, NULL)) >= 0) {
		if (got != 2 || count >= 16)
			continue;
		found[count].address = walk.address;
		found[count++].instruction = walk.instruction;
	}
	return count;
}

/* As the kernel side does it. Returns the number of functions. */
static int walk_all(void)
{
	int count = 0;

	walk.first_marked = walk.first_targets = 0;
	if (ruby_begin(&walk, MEMORY + STORAGE))
		count = step_through();
	if (ruby_again(&walk) && ruby_begin(&walk, MEMORY + STORAGE))
		count = step_through();
	return count;
}

static void make_two_activations(void)
{
	make_interpreter();
	aim(LOOP + 8, 0x9000);
	call(1, true);
	call(2, false);
	call_c(0);
	call_c(MEMORY);
	aim(OTHER, 0x8000); /* of a C function that catches exceptions */
	aim(LOOP + 8, 0x7000);
	call(3, true);
	call(4, false);
}

TEST(functions_lie_in_their_activations)
{
	static const struct {
		uint64_t address, instruction;
	} wanted[] = {{0x7000, 4}, {0x7000, 3}, {0x9000, 2}, {0x9000, 1}};

	make_two_activations();
	CHECK_EQ(walk_all(), 4);
	for (int i = 0; i < 4; i++) {
		CHECK_EQ(found[i].address, wanted[i].address - RUBY_BELOW);
		CHECK_EQ(found[i].instruction, wanted[i].instruction);
	}
	CHECK_EQ(walk.count, 4);
	CHECK_EQ(walk.quality, 0);
}

TEST(a_frame_made_before_its_activation_begins_is_innermost)
{
	make_two_activations();
	call_c(0);
	call(5, true);
	CHECK_EQ(walk_all(), 5);
	CHECK_EQ(found[0].address, RUBY_INNERMOST);
	CHECK_EQ(found[0].instruction, 5);
	CHECK_EQ(found[1].address, 0x7000 - RUBY_BELOW);
	CHECK_EQ(found[4].address, 0x9000 - RUBY_BELOW);
}

TEST(an_activation_without_a_frame_is_passed_over)
{
	make_two_activations();
	aim(LOOP + 8, 0x6000);
	CHECK_EQ(walk_all(), 4);
	CHECK_EQ(found[0].address, 0x7000 - RUBY_BELOW);
	CHECK_EQ(found[3].address, 0x9000 - RUBY_BELOW);
}

TEST(a_frame_for_c_code_is_no_function)
{
	make_two_activations();
	call(5, true);
	put(frame_at(n_frames - 1), 0);
	CHECK_EQ(walk_all(), 4);
	CHECK_EQ(found[0].address, 0x7000 - RUBY_BELOW);
	/* Compiled code does not say where it is. */
	call(6, false);
	put(frame_at(n_frames - 1), 0);
	CHECK_EQ(walk_all(), 5);
	CHECK_EQ(found[0].instruction, RUBY_NOWHERE);
}

TEST(a_thread_without_ruby_has_no_frames)
{
	make_two_activations();
	put(BLOCK + 16, 0);
	CHECK_EQ(walk_all(), 0);
	put(BLOCK + 16, MEMORY + CONTEXT);
	CHECK_EQ(walk_all(), 4);
	put(VECTOR + 3 * 16, UINT64_MAX); /* not there yet */
	CHECK_EQ(walk_all(), 0);
	put(PAIR, UINT64_MAX / 2);
	CHECK_EQ(walk_all(), 0);
	put(CONTEXT + 8, 0);
	CHECK_EQ(walk_all(), 0);
}

TEST(what_is_no_function_ends_the_walk)
{
	make_two_activations();
	put(CODE, 0x0100601a);
	CHECK_EQ(walk_all(), 0);
	CHECK_EQ(walk.quality, STACK_MANAGED_TORN);
	put(CODE, 0x0100701a);
	put(frame_at(1) + 16, 8);
	CHECK_EQ(walk_all(), 2);
	CHECK_EQ(walk.quality, STACK_MANAGED_TORN);
	CHECK_EQ(found[1].address, 0x7000 - RUBY_BELOW);
}

TEST(walks_are_bounded)
{
	make_interpreter();
	aim(LOOP + 8, 0x9000);
	call(1, true);
	for (int i = 0; i < MANAGED_DEPTH_MAX; i++)
		call(2, false);
	CHECK_EQ(walk_all(), 16);
	CHECK_EQ(walk.count, MANAGED_DEPTH_MAX - 1);
	CHECK_EQ(walk.quality, STACK_MANAGED_CUT);
	/* Targets in a circle. */
	make_two_activations();
	put(TARGETS + 56, MEMORY + TARGETS);
	CHECK_EQ(walk_all(), 4);
	CHECK_EQ(walk.quality, STACK_MANAGED_CUT);
	CHECK_EQ(walk.looked, RUBY_STEPS_MAX);
	CHECK_EQ(found[3].address, 0x9000 - RUBY_BELOW);
}
