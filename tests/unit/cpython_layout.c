// SPDX-License-Identifier: BSD-2-Clause
/* cpython_layout.c: tests of the layouts that interpreters publish for debuggers. */
#include "test.h"
#include "runtimes/cpython/layout.h"

static uint64_t table[CPYTHON_TABLE];
static uint32_t version;

/* As Debian's 3.14.8 has it, where the walker reads. */
static void make_314(void)
{
	static const uint64_t of_314[][2] = {
		{5, 808},  {8, 7272}, {9, 7344}, {24, 8},   {26, 72},  {27, 152}, {32, 8},
		{33, 0},   {34, 56},  {36, 74},  {40, 112}, {42, 128}, {43, 136}, {44, 68},
		{48, 208}, {51, 8},   {75, 16},  {76, 32},  {78, 32},  {79, 16},  {80, 40}};

	memset(table, 0, sizeof(table));
	version = 0x030e08f0;
	memcpy(table, "xdebugpy", 8);
	table[1] = version;
	for (size_t i = 0; i < sizeof(of_314) / sizeof(of_314[0]); i++)
		table[of_314[i][0]] = of_314[i][1];
}

/* As 3.13.15 has it without a global lock. */
static void make_313t(void)
{
	static const uint64_t of_313t[][2] = {{2, 1},    {5, 632},  {8, 7264}, {9, 7344}, {21, 8},
					      {23, 72},  {24, 152}, {29, 8},   {30, 0},   {31, 56},
					      {33, 70},  {35, 128}, {37, 144}, {38, 152}, {39, 84},
					      {43, 216}, {45, 24},  {65, 32},  {66, 48},  {68, 48},
					      {69, 32},  {70, 56}};

	memset(table, 0, sizeof(table));
	version = 0x030d0ff0;
	memcpy(table, "xdebugpy", 8);
	table[1] = version;
	for (size_t i = 0; i < sizeof(of_313t) / sizeof(of_313t[0]); i++)
		table[of_313t[i][0]] = of_313t[i][1];
}

static bool is_known(struct cpython_layout *layout)
{
	memset(layout, 0, sizeof(*layout));
	return cpython_offsets(version, table, layout);
}

TEST(offsets_are_those_of_the_table)
{
	struct cpython_layout layout;

	make_314();
	CHECK(is_known(&layout));
	CHECK_EQ(layout.at[CPYTHON_INTERPRETERS], 808);
	CHECK_EQ(layout.at[CPYTHON_THREAD_ID], 152);
	CHECK_EQ(layout.at[CPYTHON_FRAME_OWNER], 74);
	CHECK_EQ(layout.at[CPYTHON_CODE_LINE], 68);
	CHECK_EQ(layout.at[CPYTHON_TEXT_ASCII], 40);
	CHECK_EQ(layout.at[CPYTHON_TEXT_WIDE], 56);
	CHECK_EQ(layout.at[CPYTHON_THREAD_CFRAME], CPYTHON_NONE);
	CHECK_EQ(layout.at[CPYTHON_THREAD_BASE], CPYTHON_NONE);
}

TEST(objects_without_a_global_lock_have_longer_headers)
{
	struct cpython_layout layout;

	make_313t();
	CHECK(is_known(&layout));
	CHECK_EQ(layout.at[CPYTHON_TYPE], 24);
	CHECK_EQ(layout.at[CPYTHON_CODE_TABLE], 152);
	CHECK_EQ(layout.at[CPYTHON_TEXT_WIDE], 72);
	/* The header and the build belong together. */
	table[2] = 0;
	CHECK(!is_known(&layout));
	make_313t();
	table[45] = 8;
	CHECK(!is_known(&layout));
	make_314();
	CHECK(is_known(&layout));
	CHECK_EQ(layout.at[CPYTHON_TYPE], 8);
}

TEST(other_builds_and_tables_of_other_versions_are_unknown)
{
	/* The position, and the value that it must not have. */
	static const uint64_t wrong[][2] = {{0, 0}, {1, 0x030d00f0}, {2, 1}, {51, 24}, {79, 32}};
	struct cpython_layout layout;

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		make_314();
		table[wrong[i][0]] = wrong[i][1];
		CHECK(!is_known(&layout));
	}
	make_314();
	version = 0x031000f0;
	CHECK(!is_known(&layout));
	version = 0x030a00f0;
	CHECK(!is_known(&layout));
}

TEST(offsets_beyond_what_the_walker_reads_are_refused)
{
	static const uint64_t wrong[][2] = {
		{5, 0x10000}, {9, UINT64_MAX - 7}, {26, 73}, {32, 80},
		{36, 80},     {43, 160},           {44, 66}, {48, UINT64_C(1) << 40}};
	struct cpython_layout layout;

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		make_314();
		table[wrong[i][0]] = wrong[i][1];
		CHECK(!is_known(&layout));
	}
}

TEST(old_versions_have_no_table)
{
	struct cpython_layout layout;

	make_314();
	memset(table, 0, sizeof(table));
	version = 0x030b02f0;
	CHECK(is_known(&layout));
	CHECK_EQ(layout.at[CPYTHON_THREAD_CFRAME], 56);
	CHECK_EQ(layout.at[CPYTHON_THREAD_BASE], CPYTHON_NONE);
}
