/* SPDX-License-Identifier: BSD-2-Clause */
/* walk.c: tests of the stack walkers, on images of memory made for them. */
#include "walk_memory.h"

#include "../../bpf/unwind_rows.h"

/* Rules of some instructions; walks without any have NULL. */
struct walk_rows {
	unsigned count;
	struct {
		uint64_t from, to;
		struct unwind_rule rule;
	} stretches[8];
};

static int walk_rule(struct walk_rows *rows, uint64_t ip, struct unwind_rule *rule);

#include "../../bpf/walk_native.h"

static int walk_rule(struct walk_rows *rows, uint64_t ip, struct unwind_rule *rule)
{
	for (unsigned i = 0; rows && i < rows->count; i++) {
		if (ip < rows->stretches[i].from || ip >= rows->stretches[i].to)
			continue;
		*rule = rows->stretches[i].rule;
		return 1;
	}
	return 0;
}

static void put_record(unsigned word, uint64_t caller_frame, uint64_t return_address)
{
	image[word] = caller_frame;
	image[word + 1] = return_address;
}

struct native_walk {
	struct event_native frames[STACK_DEPTH_MAX + 1];
	unsigned count;
	uint32_t quality, guessed;
};

static uint64_t fiber;  /* that the walked thread runs; 0: none */
static uint32_t narrow; /* 1: in a 32-bit program */

/* The loop that the kernel side has. */
static struct native_walk native_by(struct walk_rows *rows, uint64_t ip, uint64_t sp, uint64_t bp)
{
	struct native_walk result = {.count = 0};
	struct walk_native walk;

	walk_native_begin(&walk, ip, sp, bp, 0);
	walk.fiber = fiber;
	if (narrow)
		walk_native_narrow(&walk);
	for (unsigned i = 0; i < STACK_DEPTH_MAX; i++) {
		if (!walk_native_find(&walk, rows))
			break;
		walk_native_get(&walk, NULL, &result.frames[i]);
		if (!walk_native_up(&walk, NULL))
			break;
	}
	result.count = walk.count;
	result.quality = walk.quality;
	result.guessed = walk.guessed;
	return result;
}

static struct native_walk native(uint64_t ip, uint64_t sp, uint64_t bp)
{
	return native_by(NULL, ip, sp, bp);
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

/* Its words have 4 bytes. */
TEST(native_chain_of_a_32_bit_program)
{
	struct native_walk walk;

	narrow = 1;
	image[10] = UINT64_C(0x401111) << 32;
	walk = native(0x400000, at(4), at(10));
	narrow = 0;
	CHECK_EQ(walk.count, 2);
	CHECK_EQ(walk.quality, STACK_NARROW);
	CHECK_EQ(walk.guessed, 0);
	CHECK_EQ(walk.frames[1].ip, 0x401111);
	CHECK_EQ(walk.frames[1].frame, 0);
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

/* --- by rules ------------------------------------------------------------------------- */

static void put_rule(struct walk_rows *rows, uint64_t from, uint64_t to, struct unwind_rule rule)
{
	rows->stretches[rows->count].from = from;
	rows->stretches[rows->count].to = to;
	rows->stretches[rows->count++].rule = rule;
}

/* The rule of a function that has pushed nothing but made room on the stack. */
static struct unwind_rule plain_rule(int32_t cfa_offset)
{
	return (struct unwind_rule){.cfa = UNWIND_CFA_SP,
				    .ra = UNWIND_AT_CFA,
				    .cfa_offset = cfa_offset,
				    .ra_offset = -8};
}

static const struct unwind_rule stop_rule = {
	.cfa = UNWIND_CFA_SP, .ra = UNWIND_STOP, .cfa_offset = 8};

TEST(rules_find_callers_without_frame_pointers)
{
	struct walk_rows rows = {.count = 0};
	struct unwind_rule saves_bp = plain_rule(24);
	struct native_walk walk;

	saves_bp.bp = UNWIND_AT_CFA;
	saves_bp.bp_offset = -24;
	put_rule(&rows, 0x400000, 0x400100, plain_rule(8));
	put_rule(&rows, 0x401000, 0x401111, saves_bp);
	put_rule(&rows, 0x402000, 0x402300,
		 (struct unwind_rule){.cfa = UNWIND_CFA_BP,
				      .ra = UNWIND_AT_CFA,
				      .bp = UNWIND_AT_CFA,
				      .cfa_offset = 16,
				      .ra_offset = -8,
				      .bp_offset = -16});
	put_rule(&rows, 0x403000, 0x403400, stop_rule);
	image[4] = 0x401111; /* behind a call that is the last instruction of its function */
	image[5] = at(20);   /* saved rbp */
	image[7] = 0x402222;
	image[20] = 77;
	image[21] = 0x403333;
	walk = native_by(&rows, 0x400000, at(4), 12345);
	CHECK_EQ(walk.count, 4);
	CHECK_EQ(walk.quality, 0);
	CHECK_EQ(walk.guessed, 0);
	CHECK_EQ(walk.frames[0].frame, at(3));
	CHECK_EQ(walk.frames[1].ip, 0x401111);
	CHECK_EQ(walk.frames[1].frame, at(6));
	CHECK_EQ(walk.frames[2].ip, 0x402222);
	CHECK_EQ(walk.frames[2].frame, at(20));
	CHECK_EQ(walk.frames[3].ip, 0x403333);
}

/* The fiber's own stack may lie anywhere; there it is gone to once. */
TEST(a_fiber_goes_on_where_it_has_left_its_stack)
{
	const struct unwind_rule leaves = {.cfa = UNWIND_CFA_SP,
					   .ra = UNWIND_FIBER,
					   .cfa_offset = 8,
					   .cfa_add = 16,
					   .ra_offset = 24,
					   .bp_offset = 40};
	struct walk_rows rows = {.count = 0};
	struct native_walk walk;

	put_rule(&rows, 0x400000, 0x400100, plain_rule(8));
	put_rule(&rows, 0x401000, 0x401100, leaves);
	image[20] = 0x401080; /* the system's stack */
	image[42] = at(4);    /* what the fiber at 40 has saved */
	image[43] = 0x400010;
	image[45] = at(6);
	image[4] = 0x402222; /* keeps a frame pointer */
	put_record(6, 0, 0x401088);
	fiber = at(40);
	walk = native_by(&rows, 0x400000, at(20), 12345);
	CHECK_EQ(walk.count, 5);
	CHECK_EQ(walk.quality, 0);
	CHECK_EQ(walk.frames[1].ip, 0x401080);
	/* Its name is that of the byte before. */
	CHECK_EQ(walk.frames[2].ip, 0x400010 + 1);
	CHECK_EQ(walk.frames[3].ip, 0x402222);
	CHECK_EQ(walk.frames[4].ip, 0x401088);

	/* It is not on another stack, cannot be read, or is not known. */
	image[42] = 0;
	CHECK_EQ(native_by(&rows, 0x400000, at(20), 12345).count, 2);
	fiber = 8;
	CHECK_EQ(native_by(&rows, 0x400000, at(20), 12345).count, 2);
	fiber = 0;
	walk = native_by(&rows, 0x400000, at(20), 12345);
	CHECK_EQ(walk.count, 2);
	CHECK_EQ(walk.quality, 0);
}

TEST(frame_pointers_help_where_rules_are_missing)
{
	struct walk_rows rows = {.count = 0};
	struct native_walk walk;

	put_rule(&rows, 0x400000, 0x400100, plain_rule(16));
	put_rule(&rows, 0x402000, 0x402300, plain_rule(24));
	put_rule(&rows, 0x403000, 0x403400, stop_rule);
	image[5] = 0x401111; /* no rule there: keeps a frame pointer */
	put_record(10, 99, 0x402222);
	image[14] = 0x403333;
	walk = native_by(&rows, 0x400000, at(4), at(10));
	CHECK_EQ(walk.count, 4);
	CHECK_EQ(walk.quality, 0);
	CHECK_EQ(walk.guessed, 1);
	CHECK_EQ(walk.frames[1].frame, at(10));
	CHECK_EQ(walk.frames[2].ip, 0x402222);
	CHECK_EQ(walk.frames[2].frame, at(13));

	/* Neither helps. */
	walk = native_by(&rows, 0x400000, at(4), 12345);
	CHECK_EQ(walk.count, 2);
	CHECK_EQ(walk.quality, STACK_USER_END);
}

TEST(entries_of_the_plt_by_their_byte)
{
	struct walk_rows rows = {.count = 0};
	struct native_walk walk;

	put_rule(&rows, 0x400000, 0x400100,
		 (struct unwind_rule){.cfa = UNWIND_CFA_PLT,
				      .ra = UNWIND_AT_CFA,
				      .cfa_offset = 11,
				      .ra_offset = -8});
	put_rule(&rows, 0x403000, 0x403400, stop_rule);
	image[4] = 0x403111;
	image[5] = 0x403222;
	walk = native_by(&rows, 0x40002a, at(4), 0);
	CHECK_EQ(walk.frames[1].ip, 0x403111);
	walk = native_by(&rows, 0x40002b, at(4), 0);
	CHECK_EQ(walk.frames[1].ip, 0x403222);
	CHECK_EQ(walk.quality, 0);
}

TEST(a_signal_may_have_interrupted_another_stack)
{
	struct walk_rows rows = {.count = 0};
	struct native_walk walk;

	put_rule(&rows, 0x400000, 0x400100, plain_rule(8));
	put_rule(&rows, 0x401000, 0x401100,
		 (struct unwind_rule){.cfa = UNWIND_CFA_SP_DEREF | UNWIND_CFA_SIGNAL,
				      .ra = UNWIND_AT_SP,
				      .bp = UNWIND_AT_SP,
				      .bx = UNWIND_AT_SP,
				      .cfa_offset = 160,
				      .ra_offset = 168,
				      .bp_offset = 120,
				      .bx_offset = 128});
	/* Interrupted at its first byte: one byte before it is another function. */
	put_rule(&rows, 0x402000, 0x402100, plain_rule(16));
	put_rule(&rows, 0x403000, 0x403400, stop_rule);
	image[100] = 0x401010;
	image[101 + 20] = at(10);
	image[101 + 21] = 0x402000;
	image[101 + 15] = 55;
	image[11] = 0x403333;
	walk = native_by(&rows, 0x400000, at(100), 0);
	CHECK_EQ(walk.count, 4);
	CHECK_EQ(walk.quality, 0);
	CHECK_EQ(walk.frames[2].ip, 0x402000 + 1);
	CHECK_EQ(walk.frames[2].frame, at(10));
	CHECK_EQ(walk.frames[3].ip, 0x403333);
}

TEST(a_fiber_leads_to_the_stack_of_its_handler)
{
	const struct unwind_rule saves_bx = {.cfa = UNWIND_CFA_SP,
					     .ra = UNWIND_AT_CFA,
					     .bx = UNWIND_AT_CFA,
					     .cfa_offset = 16,
					     .ra_offset = -8,
					     .bx_offset = -16};
	struct walk_rows rows = {.count = 0};
	struct native_walk walk;

	put_rule(&rows, 0x401000, 0x401100,
		 (struct unwind_rule){.cfa = UNWIND_CFA_SP_DEREF_TWICE | UNWIND_CFA_SIGNAL,
				      .ra = UNWIND_AT_CFA,
				      .cfa_offset = 56,
				      .cfa_add = 8,
				      .ra_offset = -8});
	put_rule(&rows, 0x403000, 0x403400, stop_rule);
	image[100 + 7] = at(50);
	image[50] = at(10);
	image[10] = 0x403333;
	walk = native_by(&rows, 0x401010, at(100), 0);
	CHECK_EQ(walk.count, 2);
	CHECK_EQ(walk.quality, 0);
	CHECK_EQ(walk.frames[1].ip, 0x403333 + 1);
	/* From C, it goes to the code that keeps its stack pointer in rbx. */
	put_rule(&rows, 0x400000, 0x400100, saves_bx);
	put_rule(&rows, 0x402000, 0x402100,
		 (struct unwind_rule){.cfa = UNWIND_CFA_BX,
				      .ra = UNWIND_AT_CFA,
				      .cfa_offset = 16,
				      .ra_offset = -8});
	image[200] = at(98);
	image[201] = 0x402010;
	image[99] = 0x401010;
	walk = native_by(&rows, 0x400010, at(200), 0);
	CHECK_EQ(walk.count, 4);
	CHECK_EQ(walk.quality, 0);
	CHECK_EQ(walk.frames[2].ip, 0x401010);
	/* A word that is no address ends it. */
	image[50] = UINT64_MAX;
	walk = native_by(&rows, 0x401010, at(100), 12345);
	CHECK_EQ(walk.count, 1);
	CHECK_EQ(walk.quality, STACK_USER_END);
}

TEST(signals_in_a_circle_end)
{
	struct walk_rows rows = {.count = 0};
	struct native_walk walk;

	put_rule(&rows, 0x401000, 0x401100,
		 (struct unwind_rule){.cfa = UNWIND_CFA_SP_DEREF | UNWIND_CFA_SIGNAL,
				      .ra = UNWIND_AT_SP,
				      .cfa_offset = 0,
				      .ra_offset = 8});
	put_record(10, at(10), 0x401010);
	walk = native_by(&rows, 0x401010, at(10), 0);
	CHECK_EQ(walk.count, STACK_DEPTH_MAX);
	CHECK_EQ(walk.quality, STACK_USER_CUT);
}

TEST(rules_that_lead_nowhere_end)
{
	struct walk_rows rows = {.count = 1};
	struct native_walk walk;

	rows.stretches[0].from = 0x400000;
	rows.stretches[0].to = 0x401000;
	/* A step back, none at all, a crooked one, one out of the memory. */
	const int32_t offsets[] = {-8, 0, 12, 1 << 30};
	for (unsigned i = 0; i < 4; i++) {
		rows.stretches[0].rule = plain_rule(offsets[i]);
		walk = native_by(&rows, 0x400000, at(4), 12345);
		CHECK_EQ(walk.count, 1);
		CHECK_EQ(walk.quality, STACK_USER_END);
	}
	/* A word that cannot be read leads to the CFA. */
	rows.stretches[0].rule = plain_rule(1 << 30);
	rows.stretches[0].rule.cfa = UNWIND_CFA_BP_DEREF;
	walk = native_by(&rows, 0x400000, at(4), at(1));
	CHECK_EQ(walk.count, 1);
	CHECK_EQ(walk.quality, STACK_USER_END);
}

/* Whatever the memory holds: the walks end, stay in their bounds and go upwards. */
TEST(random_memory)
{
	uint64_t state = test_seed();

	for (int round = 0; round < 20000; round++) {
		struct native_walk walk;

		put_random_words(&state);
		walk = native(0x400000, at(0), at((unsigned)(test_random(&state) % 64)));
		CHECK(walk.count >= 1 && walk.count <= STACK_DEPTH_MAX);
		/* A frame that was handed out but not read yet may be anything: leave out the last.
		 */
		for (unsigned i = 1; i + 1 < walk.count; i++)
			CHECK(walk.frames[i].frame >= walk.frames[i - 1].frame + 16);
	}
}
