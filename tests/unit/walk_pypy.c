// SPDX-License-Identifier: BSD-2-Clause
/* walk_pypy.c: tests of the walker of PyPy's functions, on memory made for them. */
#include "walk_rig.h"

#include "../../bpf/walk_native.h"
#include "../../bpf/pypy_code.h"

/* Where things lie, as distances from MEMORY. */
enum {
	STORAGE = 0x100, /* of the thread */
	PAIR = 0x200,
	VECTOR = 0x300,
	OWN = 0x400, /* the thread's data */
	LIST = 72,   /* in these */
	CODES = 0x500,
	NODES = 0x1000, /* of the skip list */
	NODE_SIZE = 0x100,
	TABLES = 0x8000,
	TABLE_SIZE = 0x400,
	ENTRIES = 0x10000,
	ENTRY_SIZE = 32,
	MACHINE = 0x20000, /* code */
	CODE_SIZE = 0x1000,
	STACK = 0x60000,
};

static struct walk_pypy walk;
static unsigned n_entries, n_codes;

/* What the walk returned. */
static struct {
	uint64_t address, id;
} found[16];

static void make_interpreter(void)
{
	memset(words, 0, sizeof(words));
	memset(&walk, 0, sizeof(walk));
	walk.layout = (struct pypy_layout){.storage = PAIR, .list = LIST, .codes = CODES};
	walk.bias = MEMORY;
	walk.stack = MEMORY + STACK;
	n_entries = n_codes = 0;
	put(STORAGE + 8, MEMORY + VECTOR);
	put(PAIR, 3); /* module and offset */
	put(PAIR + 8, 16);
	put(VECTOR + 3 * 16, MEMORY + OWN);
	put(OWN + 16, PYPY_READY);
}

/* A new innermost entry of the list. */
static void push(uint64_t kind, uint64_t value)
{
	uint64_t at = ENTRIES + ENTRY_SIZE * (uint64_t)n_entries++;

	put(at, n_entries > 1 ? MEMORY + at - ENTRY_SIZE : 0);
	put(at + 8, value);
	put(at + 16, kind);
	put(OWN + 16 + LIST, MEMORY + at);
}

/* Compiled code of a function, which is inlined at CODE_SIZE / 4 up to / 2 with a second one, and
 * this with a third in its last quarter. Codes are made in the order of their addresses; every
 * second one is in the second level. */
static uint64_t compile(uint64_t id)
{
	const uint64_t table[] = {id,     0,     0xf00, 12, /* jumps over all */
				  id + 4, 0x400, 0x800, 12, id + 8, 0x700, 0x800, 12};
	uint64_t number = n_codes++, node = NODES + NODE_SIZE * number,
		 data = node + 16 + 8 * PYPY_CODE_LEVELS, before = CODES;

	put(node, MEMORY + MACHINE + number * CODE_SIZE);
	put(node + 8, MEMORY + data);
	put(data, 0xf00 | (uint64_t)12 << 32);
	put(data + 8, MEMORY + TABLES + number * TABLE_SIZE);
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		put(TABLES + number * TABLE_SIZE + 8 * i, table[i]);
	if (number)
		before = node - NODE_SIZE;
	put(before + PYPY_CODE_NEXT, MEMORY + node);
	if (number % 2 == 0) {
		before = number ? node - UINT64_C(2) * NODE_SIZE : CODES;
		put(before + PYPY_CODE_NEXT + 8, MEMORY + node);
	}
	return MACHINE + number * CODE_SIZE;
}

/* Compiled code that called something, which returns to `pc`; its frame is at `frame`. */
static void run(uint64_t frame, uint64_t pc)
{
	put(frame - 8, MEMORY + pc);
	push(PYPY_COMPILED, MEMORY + frame);
}

static int step_through(uint64_t ip)
{
	int count = 0, got;

	if (!pypy_begin(&walk, MEMORY + STORAGE, ip))
		return 0;
	while ((got = pypy_next(&walk)) >= 0) {
		if (got != 2 || count >= 16)
			continue;
		found[count].address = walk.address;
		found[count++].id = walk.id;
	}
	return count;
}

/* As the kernel side does it, with the thread at this address. Returns the number of functions. */
static int walk_all(uint64_t ip)
{
	int count = step_through(ip);

	if (pypy_again(&walk, 0))
		count = step_through(ip);
	return count;
}

static void check_ids(const uint64_t *ids, int n)
{
	for (int i = 0; i < n; i++)
		CHECK_EQ(found[i].id, ids[i]);
}

TEST(functions_of_the_interpreter_are_innermost_first)
{
	const uint64_t ids[] = {12, 8, 4};

	make_interpreter();
	push(PYPY_FUNCTION, 4);
	push(PYPY_FUNCTION, 8);
	push(2, 99); /* of another kind */
	push(PYPY_FUNCTION, 12);
	pypy_enter(&walk, MEMORY + STACK + 0x100);
	pypy_enter(&walk, MEMORY + STACK + 0x200);
	pypy_enter(&walk, MEMORY + STACK + 0x300);
	CHECK_EQ(walk_all(8), 3);
	check_ids(ids, 3);
	CHECK_EQ(found[0].address, MEMORY + STACK + 0x100 - PYPY_BELOW);
	CHECK_EQ(found[2].address, MEMORY + STACK + 0x300 - PYPY_BELOW);
	CHECK_EQ(walk.quality, 0);
}

TEST(innermost_functions_without_a_native_one_have_no_address)
{
	make_interpreter();
	push(PYPY_FUNCTION, 4);
	push(PYPY_FUNCTION, 8);
	push(PYPY_FUNCTION, 12);
	pypy_enter(&walk, MEMORY + STACK + 0x100);
	CHECK_EQ(walk_all(8), 3);
	CHECK_EQ(found[0].address, 0);
	CHECK_EQ(found[1].address, 0);
	CHECK_EQ(found[2].address, MEMORY + STACK + 0x100 - PYPY_BELOW);
}

TEST(functions_inlined_in_compiled_code_are_found)
{
	const uint64_t deep[] = {108, 104, 100, 4}, flat[] = {200, 100, 4};
	uint64_t first, second;

	make_interpreter();
	first = compile(100);
	second = compile(200);
	for (int i = 0; i < 20; i++)
		compile(1000 + 100 * (uint64_t)i);
	push(PYPY_FUNCTION, 4);
	run(STACK, first + 0x701);
	CHECK_EQ(walk_all(8), 4);
	check_ids(deep, 4);
	CHECK_EQ(found[0].address, (MEMORY + STACK) | MANAGED_COMPILED);
	CHECK_EQ(found[2].address, (MEMORY + STACK) | MANAGED_COMPILED);
	/* A return address belongs to the code before it. */
	put(STACK - 8, MEMORY + first + 0x400);
	run(STACK - 0x100, second + 0x300);
	CHECK_EQ(walk_all(8), 3);
	check_ids(flat, 3);
}

TEST(the_leaf_counts_where_it_is_compiled_code)
{
	uint64_t code;

	make_interpreter();
	code = compile(100);
	run(STACK, code + 0x100);
	CHECK_EQ(walk_all(MEMORY + code + 0x500), 2);
	CHECK_EQ(found[0].id, 104);
	/* Elsewhere it does not: behind the code, and before all code. */
	CHECK_EQ(walk_all(MEMORY + code + 0xf00), 1);
	CHECK_EQ(walk_all(MEMORY + 8), 1);
	CHECK_EQ(found[0].id, 100);
	/* Nor if the innermost entry is another. */
	push(PYPY_FUNCTION, 4);
	CHECK_EQ(walk_all(MEMORY + code + 0x500), 2);
	CHECK_EQ(found[1].id, 100);
}

TEST(code_behind_the_functions_counts_where_it_jumps_back)
{
	const uint64_t at = MACHINE + 0xe00;
	uint64_t code;

	make_interpreter();
	code = compile(100);
	run(STACK, at);
	CHECK_EQ(walk_all(8), 1);
	/* mov $n,%r11; jmp */
	put(at, UINT64_C(0x112233445566bb49));
	put(at + 8, (uint64_t)0xe9 << 16 | (uint64_t)(uint32_t)(code + 0x500 - (at + 15)) << 24);
	CHECK_EQ(walk_all(8), 2);
	CHECK_EQ(found[0].id, 104);
	/* A short jump alone. */
	put(at, (uint64_t)0x80eb);
	CHECK_EQ(walk_all(8), 1);
	put(STACK - 8, MEMORY + code + 0x830);
	put(code + 0x830, (uint64_t)0xc0eb);
	CHECK_EQ(walk_all(8), 3);
	CHECK_EQ(found[0].id, 108);
}

TEST(a_thread_without_a_list_has_no_functions)
{
	make_interpreter();
	CHECK_EQ(walk_all(8), 0);
	push(PYPY_FUNCTION, 4);
	CHECK_EQ(walk_all(8), 1);
	put(OWN + 16, 0); /* not ready, or over */
	CHECK_EQ(walk_all(8), 0);
	put(OWN + 16, PYPY_READY);
	put(VECTOR + 3 * 16, UINT64_MAX); /* not there yet */
	CHECK_EQ(walk_all(8), 0);
	put(PAIR, UINT64_MAX / 2);
	CHECK_EQ(walk_all(8), 0);
}

TEST(an_unreadable_entry_ends_the_walk)
{
	make_interpreter();
	push(PYPY_FUNCTION, 4);
	push(PYPY_FUNCTION, 8);
	put(ENTRIES + ENTRY_SIZE, 1);
	CHECK_EQ(walk_all(8), 1);
	CHECK_EQ(walk.quality, STACK_MANAGED_TORN);
	CHECK_EQ(found[0].id, 8);
}

TEST(hostile_tables_are_survived)
{
	uint64_t code;

	make_interpreter();
	code = compile(100);
	push(PYPY_FUNCTION, 4);
	run(STACK, code + 0x750);
	/* Back to an earlier entry; out of memory; without an id. */
	put(TABLES + 8 * 2, 0x10);
	put(TABLES + 8 * 3, 0);
	CHECK_EQ(walk_all(8), 1);
	put(TABLES + 8 * 3, UINT32_MAX - 3);
	CHECK_EQ(walk_all(8), 1);
	put(TABLES + 8 * 2, 0xf00);
	put(TABLES, UINT64_MAX);
	put(TABLES + 8 * 4, 0);
	CHECK_EQ(walk_all(8), 2);
	CHECK_EQ(found[0].id, 108);
	put(NODES + 16 + 8 * PYPY_CODE_LEVELS + 8, 1);
	CHECK_EQ(walk_all(8), 1);
	/* The frame's address is no address. */
	put(ENTRIES + ENTRY_SIZE + 8, 4);
	CHECK_EQ(walk_all(8), 1);
	CHECK_EQ(walk.quality, 0);
}

TEST(walks_are_bounded)
{
	uint64_t code;

	/* Lists in circles: of entries, of code. */
	make_interpreter();
	push(2, 0);
	put(ENTRIES, MEMORY + ENTRIES);
	CHECK_EQ(walk_all(8), 0);
	CHECK_EQ(walk.quality, STACK_MANAGED_CUT);
	CHECK_EQ(walk.looked, PYPY_STEPS_MAX);
	make_interpreter();
	code = compile(100);
	run(STACK, code + 1);
	put(NODES + PYPY_CODE_NEXT, MEMORY + NODES);
	CHECK_EQ(walk_all(8), 0);
	CHECK_EQ(walk.quality, STACK_MANAGED_CUT);
	/* Functions without end, and inlined without end. */
	make_interpreter();
	for (int i = 0; i < MANAGED_DEPTH_MAX; i++)
		push(PYPY_FUNCTION, 4);
	CHECK_EQ(walk_all(8), 16);
	CHECK_EQ(walk.count, MANAGED_DEPTH_MAX - 1);
	CHECK_EQ(walk.quality, STACK_MANAGED_CUT);
	make_interpreter();
	code = compile(100);
	run(STACK, code + 0x10);
	put(NODES + 16 + 8 * PYPY_CODE_LEVELS, 0xf00 | (uint64_t)1024 << 32);
	for (uint64_t i = 0; i < 1024; i += 4) {
		put(TABLES + 8 * i, 4);
		put(TABLES + 8 * i + 8, 0);
		put(TABLES + 8 * i + 16, 0xf00);
	}
	CHECK_EQ(walk_all(8), 0);
	CHECK_EQ(walk.quality, STACK_MANAGED_CUT);
}

/* --- native walks through compiled code ----------------------------------------------------- */

static struct walk_native native_at(uint64_t sp)
{
	struct walk_native native;

	walk_native_begin(&native, MEMORY + MACHINE, sp, 1, 2);
	return native;
}

TEST(native_walks_pass_compiled_code)
{
	const uint64_t frame = MEMORY + STACK + 24;
	struct walk_native native = native_at(MEMORY + STACK);

	make_interpreter();
	put(STACK + 24 + PYPY_FRAME_ENTRY + 8, frame);
	put(STACK + 24 + PYPY_FRAME_ENTRY + 16, PYPY_COMPILED);
	put(STACK + 24 + PYPY_FRAME_SAVED, 77);
	put(STACK + 24 + PYPY_FRAME_SAVED + 8, 78);
	put(STACK + 24 + PYPY_FRAME_RETURN, MEMORY + 0x5000);
	CHECK_EQ(pypy_frame(NULL, native.sp), frame);
	CHECK_EQ(pypy_up(&native, NULL, frame), 1);
	CHECK_EQ(native.count, 0);
	CHECK_EQ(native.called, 0);
	CHECK_EQ(native.ip, MEMORY + 0x4fff);
	CHECK_EQ(native.sp, frame + PYPY_FRAME_RETURN + 8);
	CHECK_EQ(native.bp, 77);
	CHECK_EQ(native.bx, 78);
	native.count = 1;
	CHECK_EQ(pypy_up(&native, NULL, frame), 1);
	CHECK_EQ(native.called, 1);
	CHECK_EQ(native.ip, MEMORY + 0x5000);
	/* No frame: too far away, of another kind, at another address, unreadable. */
	CHECK_EQ(pypy_frame(NULL, MEMORY + STACK - 8 * PYPY_HELPER_WORDS), 0);
	put(STACK + 24 + PYPY_FRAME_ENTRY + 16, PYPY_FUNCTION);
	CHECK_EQ(pypy_frame(NULL, MEMORY + STACK), 0);
	CHECK_EQ(pypy_frame(NULL, 8), 0);
	put(STACK + 24 + PYPY_FRAME_RETURN, 8);
	CHECK_EQ(pypy_up(&native, NULL, frame), 0);
	CHECK_EQ(native.quality, STACK_USER_END);
}
