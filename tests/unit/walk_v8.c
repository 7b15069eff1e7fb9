// SPDX-License-Identifier: BSD-2-Clause
/* walk_v8.c: tests of what is found of JavaScript functions, in the memory of an engine made for
 * them.
 */
#include "walk_rig.h"

#include "../../bpf/walk_native.h"
#include "../../bpf/v8_names.h"

/* Where things lie, as distances from MEMORY. */
enum {
	STACK = 0x100,
	FUNCTION = 0x200,
	SHARED = 0x300,
	SCRIPT = 0x400,
	SCOPE = 0x500,
	NAME = 0x800,
	OTHER = 0x900,
	MAPS = 0x1000, /* 16 bytes for each type */
	SOURCE = 0x10000,
};

/* Types of this engine. */
enum { SHARED_TYPE = 200, SCRIPT_TYPE, SCOPE_TYPE, ODDBALL_TYPE };

static struct walk_v8 walk;

static uint64_t object(uint64_t distance)
{
	return MEMORY + distance + 1;
}

static uint64_t smi(int64_t number)
{
	return (uint64_t)number << 32;
}

static void put_type(uint64_t distance, uint64_t type)
{
	put(MAPS + 16 * type + 8, type << 32);
	put(distance, object(MAPS + 16 * type));
}

/* A string with its characters, in so many bytes each. */
static void put_string(uint64_t distance, const char *text, uint32_t width)
{
	char *chars = (char *)words + distance + 16;

	put_type(distance, width == 1 ? 8 : 0);
	put(distance + 8, (uint64_t)strlen(text) << 32);
	for (size_t i = 0; text[i]; i++)
		memcpy(chars + i * width, (const char[2]){text[i], 0}, width);
}

/* One that leads to another. */
static void put_form(uint64_t distance, uint32_t form, uint32_t length, uint64_t other,
		     uint64_t more)
{
	put_type(distance, 8 | form);
	put(distance + 8, (uint64_t)length << 32);
	put(distance + 16, other);
	put(distance + 24, more);
}

/* `first`: of a ScopeInfo, 32 or, where the place is before it, 48. */
static void make_engine(uint16_t first)
{
	static const uint16_t at[V8_ITEMS] = {
		[V8_MAP_TYPE] = 12,      [V8_FUNCTION_SHARED] = 24, [V8_SHARED_NAME] = 16,
		[V8_SHARED_SCRIPT] = 32, [V8_SHARED_LENGTH] = 40,   [V8_SCRIPT_SOURCE] = 8,
		[V8_SCRIPT_NAME] = 16,   [V8_SCRIPT_ID] = 64,       [V8_SCOPE_LOCALS] = 24,
		[V8_STRING_LENGTH] = 12, [V8_STRING_CHARS] = 16,    [V8_STRING_OTHER] = 16,
		[V8_STRING_OFFSET] = 24, [V8_STRING_OUTSIDE] = 24,  [V8_TYPE_SHARED] = 200,
		[V8_TYPE_SCRIPT] = 201,  [V8_TYPE_SCOPE] = 202,     [V8_TYPE_NO_STRING] = 128,
	};

	memset(words, 0, sizeof(words));
	memset(&walk, 0, sizeof(walk));
	memcpy(walk.layout.at, at, sizeof(at));
	walk.layout.at[V8_SCOPE_FIRST] = first;
	put(STACK - 8, object(OTHER));
	put(STACK - 16, object(FUNCTION));
	put(FUNCTION + 24, object(SHARED));
	put_type(SHARED, SHARED_TYPE);
	put(SHARED + 16, object(SCOPE));
	put(SHARED + 32, object(SCRIPT));
	put_type(SCRIPT, SCRIPT_TYPE);
	put(SCRIPT + 8, object(SOURCE));
	put(SCRIPT + 64, smi(7));
	put_type(SCOPE, SCOPE_TYPE);
	put(SCOPE + 8, smi(2));
	put_type(OTHER, ODDBALL_TYPE);
	put_string(NAME, "name", 1);
}

/* What a ScopeInfo has behind `locals` variables. */
static void put_scope(uint64_t locals, uint64_t name, uint64_t inferred, uint64_t begin)
{
	uint64_t at = SCOPE + walk.layout.at[V8_SCOPE_FIRST] + 16 * locals;

	put(SCOPE + 24, smi((int64_t)locals));
	put(at, name);
	put(at + 8, smi(-1));
	put(at + 16, inferred);
	put(at + 24, begin);
	put(at + 32, begin + smi(9));
}

static bool found(void)
{
	return v8_frame(&walk, NULL, MEMORY + STACK, MEMORY);
}

TEST(a_frame_of_a_function_has_its_context_and_a_script)
{
	make_engine(32);
	CHECK(found());
	CHECK(!v8_frame(&walk, NULL, MEMORY + STACK, MEMORY + STACK + 8));
	CHECK(!v8_frame(&walk, NULL, MEMORY + STACK + 4, MEMORY));
	CHECK(!v8_frame(&walk, NULL, 16, 0));
	/* A frame of another kind. */
	put(STACK - 8, 44);
	CHECK(!found());
	/* A function without a script is one of the engine's own. */
	make_engine(32);
	put(SHARED + 32, object(OTHER));
	CHECK(!found());
	make_engine(32);
	put_type(SHARED, SCRIPT_TYPE);
	CHECK(!found());
	make_engine(32);
	put(STACK - 16, object(FUNCTION) + 2);
	CHECK(!found());
}

TEST(what_lies_at_the_same_address_later_is_another_function)
{
	uint64_t print;

	make_engine(32);
	CHECK(found());
	print = v8_print(&walk);
	CHECK(found());
	CHECK_EQ(v8_print(&walk), print);
	put(SCRIPT + 64, smi(8));
	CHECK(found());
	CHECK(v8_print(&walk) != print);
	put(SCRIPT + 64, smi(7));
	put(SHARED + 40, 1);
	CHECK(found());
	CHECK(v8_print(&walk) != print);
}

TEST(functions_have_the_name_and_the_place_of_their_scope)
{
	make_engine(32);
	put_scope(0, object(NAME), object(OTHER), smi(5));
	CHECK(found());
	v8_describe(&walk);
	CHECK_EQ(walk.function, object(NAME));
	CHECK_EQ(walk.begin, 5);
	/* None, but one that was inferred, behind three variables. */
	put_scope(3, smi(0), object(NAME), smi(6));
	v8_describe(&walk);
	CHECK_EQ(walk.function, object(NAME));
	CHECK_EQ(walk.begin, 6);
	put_scope(80, object(OTHER), object(OTHER), smi(6));
	put(SCOPE + 32 + 8 * 81, object(NAME));
	put(SCOPE + 32 + 8 * 83, object(OTHER));
	put(SCOPE + 32 + 8 * 84, smi(8));
	v8_describe(&walk);
	CHECK_EQ(walk.function, object(NAME));
	CHECK_EQ(walk.begin, 8);
	put_scope(1, smi(0), object(OTHER), smi(4));
	v8_describe(&walk);
	CHECK_EQ(walk.function, 0);
	CHECK_EQ(walk.begin, 4);
}

TEST(the_place_may_lie_before_the_names_and_a_function_have_none_yet)
{
	make_engine(48);
	put(SCOPE + 32, smi(12));
	put(SCOPE + 40, smi(20));
	put_scope(1, object(NAME), object(OTHER), object(OTHER));
	CHECK(found());
	v8_describe(&walk);
	CHECK_EQ(walk.function, object(NAME));
	CHECK_EQ(walk.begin, 12);
	put(SHARED + 16, object(NAME));
	CHECK(found());
	v8_describe(&walk);
	CHECK_EQ(walk.function, object(NAME));
	CHECK_EQ(walk.begin, UINT32_MAX);
	CHECK(!v8_count_begin(&walk));
	CHECK_EQ(walk.line, 0);
}

TEST(strings_lead_to_their_characters_in_all_forms)
{
	make_engine(32);
	v8_text(&walk, object(NAME));
	CHECK_EQ(walk.text.at, MEMORY + NAME + 16);
	CHECK_EQ(walk.text.length, 4);
	CHECK_EQ(walk.text.width, 1);
	put_string(NAME, "name", 2);
	put_form(OTHER, V8_THIN, 4, object(NAME), 0);
	v8_text(&walk, object(OTHER));
	CHECK_EQ(walk.text.at, MEMORY + NAME + 16);
	CHECK_EQ(walk.text.width, 2);
	/* No more than the first part of one that is joined, and what is cut from the begin. */
	put_form(OTHER, V8_JOINED, 9, object(NAME), object(NAME));
	v8_text(&walk, object(OTHER));
	CHECK_EQ(walk.text.length, 4);
	put_form(OTHER, V8_SLICED, 3, object(NAME), smi(0));
	v8_text(&walk, object(OTHER));
	CHECK_EQ(walk.text.length, 3);
	put_form(OTHER, V8_SLICED, 3, object(NAME), smi(1));
	v8_text(&walk, object(OTHER));
	CHECK_EQ(walk.text.at, 0);
	put_form(OTHER, V8_OUTSIDE, 3, 0, MEMORY + 0x40);
	v8_text(&walk, object(OTHER));
	CHECK_EQ(walk.text.at, MEMORY + 0x40);
	/* It ends, whatever leads to what. */
	put_form(OTHER, V8_THIN, 3, object(OTHER), 0);
	v8_text(&walk, object(OTHER));
	CHECK_EQ(walk.text.at, 0);
	v8_text(&walk, smi(3));
	CHECK_EQ(walk.text.at, 0);
}

static uint32_t line_at(uint32_t begin)
{
	walk.begin = begin;
	walk.source = object(SOURCE);
	if (v8_count_begin(&walk))
		for (uint32_t i = 0; i < V8_COUNT_STEPS && !v8_count(&walk); i++)
			;
	return walk.line;
}

/* A source of one line for each 37 characters, compared with a count of each character. */
static void check_lines(uint32_t width, uint32_t length)
{
	char *chars = (char *)words + SOURCE + 16;
	uint32_t line = 1;

	make_engine(32);
	put_type(SOURCE, width == 1 ? 8 : 0);
	put(SOURCE + 8, (uint64_t)length << 32);
	for (uint32_t i = 0; i < length; i++)
		chars[i * width] = (char)(i % 37 == 36 ? '\n' : 0x80 + i % 100);
	for (uint32_t i = 0; i < length; i += 1 + i % 7, line = 1 + i / 37) {
		if (i % 5000 < 50 || i + 600 > length)
			CHECK_EQ(line_at(i), line);
		if (i % 3 == 0)
			walk.lines.known = 0;
	}
	CHECK_EQ(line_at(length + 1), 0);
}

TEST(lines_are_counted_in_characters_of_either_width)
{
	check_lines(1, 300000);
	CHECK_EQ(walk.lines.known, 300000 >> V8_PIECE_SHIFT);
	check_lines(2, 150000);
}

TEST(lines_that_were_counted_are_not_counted_again)
{
	check_lines(1, 200000);
	walk.lines.known = 1;
	walk.lines.before[1] = 100;
	CHECK_EQ(line_at(1 << V8_PIECE_SHIFT), 101);
	/* What cannot be read has no line. */
	put(SOURCE + 8, (uint64_t)1 << 61);
	CHECK_EQ(line_at(sizeof(words)), 0);
}

/* Code at CODE, at which the innermost function is; its stack. */
enum { CODE = 0x3000, TOP = 0x180 };

static struct walk_native native;

/* Has the function been found? `bytes`: from the instruction before. */
static bool innermost(const char *bytes, size_t size, uint64_t sp, uint64_t bp, uint64_t rdi)
{
	memset((char *)words + CODE, 0x90, 64);
	memcpy((char *)words + CODE + 7, bytes, size);
	memset(&native, 0, sizeof(native));
	native.ip = MEMORY + CODE + 8;
	native.sp = MEMORY + sp;
	native.bp = MEMORY + bp;
	walk.no_frame = 0;
	return v8_innermost(&walk, &native, rdi);
}

#define CHECKS "\x48\x8b\x59\xf8\xf6\x43\x35\x01\x0f\x85\0\0\0\0"
#define ENTRY  "\x55\x48\x89\xe5"

TEST(functions_without_a_frame_are_known_by_their_instructions)
{
	const uint64_t rdi = object(FUNCTION);

	make_engine(32);
	/* Before anything is done: the return address is on top of the stack. */
	CHECK(innermost("\x90" CHECKS ENTRY, 19, TOP, STACK, rdi));
	CHECK_EQ(walk.no_frame, 1);
	put(TOP, MEMORY + 0x2000);
	CHECK(v8_up(&native, NULL));
	CHECK_EQ(native.ip, MEMORY + 0x2000);
	CHECK_EQ(native.sp, MEMORY + TOP + 8);
	CHECK_EQ(native.bp, MEMORY + STACK);
	put(TOP, 5);
	native.sp = MEMORY + TOP;
	CHECK(!v8_up(&native, NULL));
	CHECK(innermost("\x90" ENTRY, 5, TOP, STACK, rdi) && walk.no_frame);
	CHECK(!innermost("\x90" ENTRY, 5, TOP, STACK, rdi + 2) && !walk.no_frame);
	CHECK(!innermost("\x90" CHECKS "\x90" ENTRY, 20, TOP, STACK, rdi));
	/* The frame pointer was pushed; it is set. */
	CHECK(innermost(ENTRY, 4, TOP, STACK, rdi) && !walk.no_frame);
	CHECK_EQ(native.bp, MEMORY + TOP);
	CHECK(innermost("\xe5\x56\x57", 3, TOP, TOP, rdi) && !walk.no_frame);
	CHECK(innermost("\x56\x57", 2, TOP - 8, TOP, rdi));
	CHECK(!innermost("\x57\x90", 2, TOP - 16, TOP, rdi));
	CHECK(!innermost("\xe5\x5d", 2, TOP, TOP, rdi));
}

TEST(functions_that_have_left_their_frame_still_have_it_below_the_stack)
{
	static const char *const ends[] = {"\x5d\x48\x83\xf9\x03", "\x03\x7f\x03", "\x03\xc2\x18",
					   "\x03\x41\x5a", "\x5d\xc3"};

	make_engine(32);
	put(STACK, MEMORY + TOP);
	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
		CHECK(!innermost(ends[i], strlen(ends[i]), STACK + 8, TOP, 0));
		CHECK_EQ(native.bp, MEMORY + STACK);
		CHECK(v8_frame(&walk, NULL, native.bp, native.sp));
		/* Another function's end has other things below the stack. */
		CHECK(!innermost(ends[i], strlen(ends[i]), STACK + 8, TOP + 8, 0));
		CHECK_EQ(native.bp, MEMORY + TOP + 8);
	}
	CHECK(!innermost("\x5d\x90", 2, STACK + 8, TOP, 0));
	CHECK_EQ(native.bp, MEMORY + TOP);
}
