// SPDX-License-Identifier: BSD-2-Clause
/* walk_hotspot.c: tests of the walker of Java frames, on a virtual machine's memory made for them.
 */
#include "walk_rig.h"

#include "../../bpf/walk_hotspot.h"

/* Where things lie, as distances from MEMORY. */
enum {
	HEAP = 0x2000, /* a CodeHeap, the array that leads to it, names */
	SEGMENTS = 0x3000,
	CODE = 0x8000, /* the heap: segments of 128 bytes */
	CODE_BYTES = 0x4000,
	METHOD = 0xc000,
	STACK = 0x10000,
};

/* Offsets of this virtual machine. */
enum {
	AT_NAME = 8,
	AT_SIZE = 16,
	AT_COMPLETE = 20,
	AT_BEGIN = 24,
	AT_ID = 32,
	AT_HANDLER = 40,
	AT_ORIGINAL = 48,
	BLOCK = 16,
	COMPILED = CODE,
	INTERPRETER = CODE + 0x800,
	STUB = CODE + 0x1000,
	ADAPTER = CODE + 0x1800,
	CALL_STUB = STUB + 0x90,
};

static struct walk_hotspot at;

static uint64_t *word(uint64_t distance)
{
	return &words[distance / 8];
}

/* A blob of 0x400 bytes, whose code begins at 0x80. */
static void put_blob(uint64_t block, const char *name, uint32_t frame_words, uint32_t complete)
{
	uint64_t blob = block + BLOCK, text = HEAP + 0x200 + (block - CODE) / 32;

	strcpy((char *)word(text), name);
	*word(blob + AT_NAME) = MEMORY + text;
	*word(blob + AT_SIZE) = (uint64_t)complete << 32 | frame_words;
	*word(blob + AT_BEGIN) = MEMORY + block + 0x80;
	*word(blob + AT_ID) = 77;
	*word(blob + AT_HANDLER) = MEMORY + block + 0x300;
	*word(blob + AT_ORIGINAL) = 8;
	for (unsigned i = 0; i < 0x400 / 128; i++)
		((char *)words)[SEGMENTS + (block - CODE) / 128 + i] = (char)i;
}

static void make_machine(struct hotspot_layout *layout)
{
	static const struct {
		enum hotspot_item item;
		uint64_t value;
	} values[] = {
		{HOTSPOT_HEAPS, HEAP},
		{HOTSPOT_CALL_STUB, HEAP + 8},
		{HOTSPOT_ARRAY_LENGTH, 0},
		{HOTSPOT_ARRAY_DATA, 8},
		{HOTSPOT_HEAP_MEMORY, 0},
		{HOTSPOT_HEAP_MAP, 32},
		{HOTSPOT_HEAP_SHIFT, 64},
		{HOTSPOT_SPACE_LOW, 0},
		{HOTSPOT_SPACE_HIGH, 8},
		{HOTSPOT_SPACE_BEGIN, 16},
		{HOTSPOT_BLOCK_SIZE, BLOCK},
		{HOTSPOT_BLOB_NAME, AT_NAME},
		{HOTSPOT_BLOB_FRAME_SIZE, AT_SIZE},
		{HOTSPOT_BLOB_COMPLETE, AT_COMPLETE},
		{HOTSPOT_BLOB_BEGIN, AT_BEGIN},
		{HOTSPOT_COMPILE_ID, AT_ID},
		{HOTSPOT_ORIGINAL_PC, AT_ORIGINAL},
		{HOTSPOT_DEOPT_HANDLER, AT_HANDLER},
		{HOTSPOT_METHOD_CONST, 8},
		{HOTSPOT_CONST_CODE_SIZE, 16},
		{HOTSPOT_CONST_SIZE, 48},
	};

	memset(words, 0, sizeof(words));
	for (int i = 0; i < HOTSPOT_ITEMS; i++)
		layout->value[i] = HOTSPOT_NONE;
	memset(&at, 0, sizeof(at));
	memset((char *)words + SEGMENTS, 255, CODE_BYTES / 128);
	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++)
		layout->value[values[i].item] = values[i].value;
	*word(HEAP) = MEMORY + HEAP + 16;      /* CodeCache::_heaps */
	*word(HEAP + 8) = MEMORY + CALL_STUB;  /* StubRoutines::_call_stub_return_address */
	*word(HEAP + 16) = 1;                  /* the array: length, */
	*word(HEAP + 24) = MEMORY + HEAP + 32; /* data, */
	*word(HEAP + 32) = MEMORY + HEAP + 40; /* one heap: */
	*word(HEAP + 40) = MEMORY + CODE;      /* its memory */
	*word(HEAP + 48) = MEMORY + CODE + CODE_BYTES;
	*word(HEAP + 40 + 32 + 16) = MEMORY + SEGMENTS;
	*word(HEAP + 40 + 64) = 7;
	put_blob(COMPILED, "nmethod", 6, 0x20);
	put_blob(INTERPRETER, "Interpreter", 0, 0);
	put_blob(STUB, "StubRoutines (1)", 0, 0);
	put_blob(ADAPTER, "I2C/C2I adapters", 0, 0);
	*word(METHOD + 8) = MEMORY + METHOD + 0x100; /* its constant part, of 40 bytecodes */
	*word(METHOD + 0x100 + 16) = 40;
}

static void learn(void)
{
	struct hotspot_layout layout;

	make_machine(&layout);
	CHECK_EQ(hotspot_learn(&at, NULL, &layout, MEMORY), 1);
}

/* One step of a walk: 1 if it went on. */
static int step(struct walk_native *walk, struct event_native *out)
{
	int found;

	if (!hotspot_find(&at, NULL, walk->ip))
		return -1;
	hotspot_take(&at, walk);
	found = hotspot_caller(&at, NULL);
	return hotspot_up(&at, walk, found, out);
}

static struct walk_native begin(uint64_t ip, uint64_t sp, uint64_t bp)
{
	struct walk_native walk;

	walk_native_begin(&walk, MEMORY + ip, MEMORY + sp, MEMORY + bp, 0);
	return walk;
}

TEST(a_machine_that_is_not_ready_is_not_learned)
{
	struct hotspot_layout layout;

	make_machine(&layout);
	*word(HEAP + 8) = 0;
	CHECK_EQ(hotspot_learn(&at, NULL, &layout, MEMORY), 0);
}

TEST(compiled_frames_have_their_caller_at_their_end)
{
	struct walk_native walk;
	struct event_native out;

	learn();
	walk = begin(COMPILED + 0x180, STACK, 0x40);
	*word(STACK + 6 * 8 - 8) = MEMORY + COMPILED + 0x200;
	*word(STACK + 6 * 8 - 16) = 4711;
	CHECK_EQ(step(&walk, &out), 1);
	CHECK_EQ(out.ip, hotspot_code(MEMORY + COMPILED + 0x180, 77));
	CHECK_EQ(walk.ip, MEMORY + COMPILED + 0x200);
	CHECK_EQ(walk.sp, MEMORY + STACK + 48);
	CHECK_EQ(walk.bp, 4711);
	CHECK_EQ(walk.called, 1);
}

TEST(barriers_save_registers_below_a_compiled_frame)
{
	struct walk_native walk;
	struct event_native out;

	learn();
	walk = begin(COMPILED + 0x180, STACK, 0x40);
	walk.called = 1;
	*word(STACK + 6 * 8 - 8) = 999999;
	*word(STACK + (6 + 5) * 8 - 16) = 4711;
	*word(STACK + (6 + 5) * 8 - 8) = MEMORY + COMPILED + 0x200;
	CHECK_EQ(step(&walk, &out), 1);
	CHECK_EQ(walk.ip, MEMORY + COMPILED + 0x200);
	CHECK_EQ(walk.sp, MEMORY + STACK + (6 + 5) * 8);
	CHECK_EQ(walk.bp, 4711);
}

TEST(in_the_prologue_and_at_the_return_only_some_of_the_frame_is_there)
{
	static const struct {
		uint64_t ip, code, pushed;
	} cases[] = {
		{0x84, 0, 0},         /* first instructions */
		{0x8c, 0, 1},         /* behind push %rbp */
		{0x180, 0xc3, 0},     /* ret */
		{0x180, 0x5d, 1},     /* pop %rbp */
		{0x180, 0xa73b49, 0}, /* the poll of the return */
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct walk_native walk;
		struct event_native out;

		learn();
		walk = begin(COMPILED + cases[i].ip, STACK, 0x40);
		*word(COMPILED + cases[i].ip) |= cases[i].code << (cases[i].ip & 7) * 8;
		*word(STACK + 8 * cases[i].pushed) = MEMORY + COMPILED + 0x200;
		if (cases[i].pushed)
			*word(STACK) = 4711;
		CHECK_EQ(step(&walk, &out), 1);
		CHECK_EQ(walk.sp, MEMORY + STACK + 8 + 8 * cases[i].pushed);
		CHECK_EQ(walk.bp, cases[i].pushed ? 4711 : MEMORY + 0x40);
	}
}

/* Compiled code that returns to the barrier, above which the virtual thread's runner goes on. */
static struct walk_native at_barrier(bool is_ready, struct hotspot_layout *layout)
{
	make_machine(layout);
	layout->value[HOTSPOT_BARRIER] = HEAP + 0x180;
	*word(HEAP + 0x180) = is_ready ? MEMORY + STUB + 0x200 : 0;
	*word(STACK + 40) = MEMORY + STUB + 0x200;
	*word(STACK + 48 + 5 * 8) = MEMORY + COMPILED + 0x200;
	return begin(COMPILED + 0x180, STACK, 0x40);
}

TEST(frames_of_a_virtual_thread_that_are_in_the_heap_are_missing)
{
	struct hotspot_layout layout;
	struct walk_native walk = at_barrier(true, &layout);
	struct event_native out;

	CHECK_EQ(hotspot_learn(&at, NULL, &layout, MEMORY), 1);
	CHECK_EQ(step(&walk, &out), 1);
	CHECK_EQ(walk.ip, MEMORY + STUB + 0x200);
	CHECK_EQ(walk.quality, 0);
	CHECK_EQ(step(&walk, &out), 1);
	CHECK_EQ(walk.quality, STACK_JAVA_FROZEN);
	CHECK_EQ(walk.ip, MEMORY + COMPILED + 0x200);
	walk = at_barrier(false, &layout);
	CHECK_EQ(hotspot_learn(&at, NULL, &layout, MEMORY), 0);
}

TEST(deoptimised_frames_are_named_by_where_they_were)
{
	struct walk_native walk;
	struct event_native out;

	learn();
	walk = begin(COMPILED + 0x300, STACK, 0x40);
	walk.called = walk.count = 1;
	*word(STACK + 8) = MEMORY + COMPILED + 0x123;
	*word(STACK + 40) = MEMORY + COMPILED + 0x200;
	CHECK_EQ(step(&walk, &out), 1);
	CHECK_EQ(out.ip, hotspot_code(MEMORY + COMPILED + 0x123, 77));
}

/* An interpreted frame at this place, called from compiled code. */
static void put_interpreted(uint64_t frame, uint64_t sender)
{
	*word(frame) = 4711;
	*word(frame + 8) = MEMORY + COMPILED + 0x200;
	*word(frame - 8) = MEMORY + sender;
	*word(frame - 24) = MEMORY + METHOD;
	*word(frame - 64) = MEMORY + METHOD + 0x100 + 48 + 7;
}

TEST(interpreted_frames_have_method_bytecode_and_sender)
{
	struct walk_native walk;
	struct event_native out;

	learn();
	put_interpreted(STACK + 0x80, STACK + 0xa0);
	walk = begin(INTERPRETER + 0x100, STACK, STACK + 0x80);
	CHECK_EQ(step(&walk, &out), 1);
	CHECK_EQ(out.ip, hotspot_interpreted(MEMORY + METHOD, 7));
	CHECK_EQ(walk.sp, MEMORY + STACK + 0xa0);
	CHECK_EQ(walk.ip, MEMORY + COMPILED + 0x200);
	CHECK_EQ(walk.bp, 4711);
}

TEST(the_first_interpreted_frame_has_its_bytecode_in_a_register)
{
	struct walk_native walk;
	struct event_native out;

	learn();
	put_interpreted(STACK + 0x80, STACK + 0xa0);
	walk = begin(INTERPRETER + 0x100, STACK, STACK + 0x80);
	at.r13 = MEMORY + METHOD + 0x100 + 48 + 12;
	CHECK_EQ(step(&walk, &out), 1);
	CHECK_EQ(out.ip, hotspot_interpreted(MEMORY + METHOD, 12));
}

TEST(an_interpreted_frame_that_is_being_built_has_its_caller_in_registers)
{
	struct walk_native walk;
	struct event_native out;

	learn();
	walk = begin(INTERPRETER + 0x100, STACK, 0x40);
	walk.bx = MEMORY + METHOD;
	at.r13 = MEMORY + STACK + 0x30;
	at.ax = MEMORY + COMPILED + 0x200;
	CHECK_EQ(step(&walk, &out), 1);
	CHECK_EQ(out.ip, hotspot_interpreted(MEMORY + METHOD, 0));
	CHECK_EQ(walk.ip, MEMORY + COMPILED + 0x200);
	CHECK_EQ(walk.sp, MEMORY + STACK + 0x30);
}

TEST(the_call_stub_leads_back_to_native_code)
{
	struct walk_native walk;
	struct event_native out;

	learn();
	walk = begin(CALL_STUB, STACK, STACK + 0x40);
	walk.called = walk.count = 1;
	*word(STACK + 0x40) = 4711;
	*word(STACK + 0x48) = UINT64_C(0x7e0000001234);
	CHECK_EQ(step(&walk, &out), 1);
	CHECK_EQ(walk.ip, UINT64_C(0x7e0000001234));
	CHECK_EQ(walk.sp, MEMORY + STACK + 0x50);
	CHECK_EQ(hotspot_find(&at, NULL, walk.ip), 0);
}

TEST(a_walk_of_any_memory_ends)
{
	uint64_t random = 1;

	for (int round = 0; round < 3000; round++) {
		struct walk_native walk;
		struct event_native out;
		int steps = 0;

		learn();
		for (unsigned i = STACK / 8; i < WORDS; i++) {
			random = random * UINT64_C(6364136223846793005) + 1;
			words[i] = random >> 60 > 9 ? MEMORY + (random >> 40) % (8 * WORDS)
						    : random;
		}
		for (unsigned i = 0; round % 2 && i < CODE_BYTES / 128; i++)
			((char *)words)[SEGMENTS + i] ^= (char)(words[STACK / 8 + i] >> 7);
		walk = begin(CODE + random % CODE_BYTES, STACK + random / 8 % 512 * 8,
			     STACK + random / 64 % 4096);
		at.ax = words[STACK / 8];
		at.r13 = words[STACK / 8 + 1];
		while (step(&walk, &out) == 1)
			CHECK(++steps <= STACK_DEPTH_MAX);
	}
}
