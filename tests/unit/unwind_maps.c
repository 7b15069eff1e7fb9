/* SPDX-License-Identifier: BSD-2-Clause */
/* unwind_maps.c: tests of unwind rows in the kernel's maps: put in, found, taken away. */
#include "unwind_rig.h"

#include <fcntl.h>
#include <link.h>

/* A file made up: each page has the same number of rows, whose rules are so many different ones. */
struct made {
	struct unwind_file file;
	uint32_t step; /* bytes from row to row */
};

static void make(struct made *made, size_t pages, uint32_t rows, size_t rules, int16_t mark)
{
	struct unwind_file *file = &made->file;

	memset(made, 0, sizeof(*made));
	made->step = 0x10000 / rows;
	file->n_pages = pages;
	file->n_rows = pages * rows;
	file->n_rules = rules + 1;
	file->pages = calloc(pages, sizeof(*file->pages));
	file->starts = calloc(pages, sizeof(*file->starts));
	file->rows = calloc(file->n_rows, sizeof(*file->rows));
	file->rules = calloc(file->n_rules, sizeof(*file->rules));
	CHECK(file->pages && file->starts && file->rows && file->rules);
	for (size_t i = 1; i <= rules; i++)
		file->rules[i] = (struct unwind_rule){
			.cfa = UNWIND_CFA_SP, .cfa_offset = (int32_t)(8 * i), .cfa_add = mark};
	for (size_t i = 0; i < file->n_rows; i++)
		file->rows[i] = (uint32_t)(i % rows) * made->step | (uint32_t)(i % file->n_rules)
									    << 16;
	for (size_t i = 0; i < pages; i++) {
		file->pages[i].count = (uint16_t)rows;
		file->starts[i] = (uint32_t)(i * rows);
	}
}

static void drop(struct made *made)
{
	free(made->file.pages);
	free(made->file.starts);
	free(made->file.rows);
	free(made->file.rules);
}

static void check_made(const struct rig *rig, const struct made *made, uint32_t first)
{
	const struct unwind_file *file = &made->file;
	size_t rows = file->pages[0].count;

	for (size_t i = 0; i < file->n_rows; i += 97) {
		uint64_t place = i / rows * 0x10000 + i % rows * made->step + made->step - 1;

		CHECK(rig_same(rig_rule_at(rig, first, place), file->rules[i % file->n_rules]));
	}
}

static void check_file(const struct rig *rig, const struct unwind_file *file, uint32_t first)
{
	for (uint64_t place = 0; place < (uint64_t)file->n_pages << UNWIND_PAGE_SHIFT; place += 61)
		CHECK(rig_same(rig_rule_at(rig, first, place),
			       *unwind_find(file, file->base + place)));
}

TEST(the_rows_of_files_are_found_where_they_were_put)
{
	static const char *const paths[] = {"/proc/self/exe", "/lib64/ld-linux-x86-64.so.2"};
	struct unwind_file *files[2];
	uint32_t first[2];
	struct rig rig;

	rig_open(&rig);
	CHECK_EQ(unwind_maps_bytes(rig.maps), 0);
	for (int i = 0; i < 2; i++) {
		int fd = open(paths[i], O_RDONLY | O_CLOEXEC);

		CHECK_EQ(unwind_read(fd, &files[i]), 0);
		close(fd);
		CHECK_EQ(unwind_maps_add(rig.maps, files[i], &first[i]), 0);
	}
	CHECK_EQ(unwind_maps_bytes(rig.maps), RIG_CHUNK_BYTES);
	check_file(&rig, files[0], first[0]);
	check_file(&rig, files[1], first[1]);
	unwind_maps_remove(rig.maps, first[0], files[0]->n_pages);
	CHECK_EQ(rig_number(&rig, first[0], 0xffff), 0);
	check_file(&rig, files[1], first[1]);
	unwind_free(files[0]);
	unwind_free(files[1]);
	rig_close(&rig);
}

TEST(chunks_come_with_the_rows_and_go_with_the_last_of_them)
{
	struct made big, small;
	uint32_t first_big, first_small;
	struct rig rig;

	rig_open(&rig);
	make(&big, 70, 5000, 300, 1); /* 13 pages fit into a chunk */
	make(&small, 3, 100, 20, 2);
	CHECK_EQ(unwind_maps_add(rig.maps, &big.file, &first_big), 0);
	CHECK_EQ(unwind_maps_bytes(rig.maps), 6 * RIG_CHUNK_BYTES);
	CHECK_EQ(unwind_maps_add(rig.maps, &small.file, &first_small), 0);
	CHECK_EQ(unwind_maps_bytes(rig.maps), 6 * RIG_CHUNK_BYTES);
	check_made(&rig, &big, first_big);
	check_made(&rig, &small, first_small);
	/* The small one lies behind the big one's end, in the last chunk. */
	unwind_maps_remove(rig.maps, first_big, big.file.n_pages);
	CHECK_EQ(unwind_maps_bytes(rig.maps), RIG_CHUNK_BYTES);
	check_made(&rig, &small, first_small);
	unwind_maps_remove(rig.maps, first_small, small.file.n_pages);
	CHECK_EQ(unwind_maps_bytes(rig.maps), 0);
	for (uint32_t i = 1; i < UNWIND_CHUNKS_MAX; i++)
		CHECK(!rig_has_chunk(&rig, i));
	CHECK_EQ(unwind_maps_add(rig.maps, &big.file, &first_big), 0);
	check_made(&rig, &big, first_big);
	drop(&big);
	drop(&small);
	rig_close(&rig);
}

TEST(what_does_not_fit_is_refused_and_leaves_nothing)
{
	struct made wide, rest;
	uint32_t first[9];
	struct rig rig;

	rig_open(&rig);
	make(&wide, UNWIND_FILE_PAGES_MAX, 2, 1, 1);
	make(&rest, 2, 4, 3, 2);
	for (int i = 0; i < 8; i++)
		CHECK_EQ(unwind_maps_add(rig.maps, &wide.file, &first[i]), 0);
	CHECK_EQ(unwind_maps_add(rig.maps, &rest.file, &first[8]), -ENOSPC);
	unwind_maps_remove(rig.maps, first[3], wide.file.n_pages);
	CHECK_EQ(unwind_maps_add(rig.maps, &rest.file, &first[8]), 0);
	CHECK_EQ(first[8], first[3]);
	check_made(&rig, &rest, first[8]);
	check_made(&rig, &wide, first[4]);
	/* Half of it fits, and is taken back. */
	CHECK_EQ(unwind_maps_add(rig.maps, &wide.file, &first[3]), -ENOSPC);
	check_made(&rig, &rest, first[8]);
	drop(&wide);
	drop(&rest);
	rig_close(&rig);
}

TEST(rows_beyond_all_chunks_are_refused_and_taken_back)
{
	struct made big;
	uint32_t first;
	struct rig rig;
	size_t before;
	int err = 0;

	rig_open(&rig);
	make(&big, 60, 0xfff0, 7, 1); /* a chunk each */
	for (int i = 0; i < 4; i++)
		CHECK_EQ(unwind_maps_add(rig.maps, &big.file, &first), 0);
	before = unwind_maps_bytes(rig.maps);
	err = unwind_maps_add(rig.maps, &big.file, &first);
	CHECK_EQ(err, -ENOSPC);
	CHECK(before <= 256 * RIG_CHUNK_BYTES);
	unwind_maps_remove(rig.maps, first - 60, 60);
	CHECK_EQ(unwind_maps_add(rig.maps, &big.file, &first), 0);
	check_made(&rig, &big, first);
	drop(&big);
	rig_close(&rig);
}

/* Files of all programs share the rules; when there are too many, rows lead to none. */
TEST(too_many_rules_leave_rows_without_one)
{
	struct unwind_rule rule;
	struct made made;
	uint32_t first, firsts[4];
	struct rig rig;

	rig_open(&rig);
	for (int16_t mark = 1; mark <= 3; mark++) {
		make(&made, 1, 8000, 7999, mark);
		CHECK_EQ(unwind_maps_crowded(rig.maps, &made.file), mark == 3);
		CHECK_EQ(unwind_maps_add(rig.maps, &made.file, &first), 0);
		firsts[mark] = first;
		rule = rig_rule_at(&rig, first, 7999 * made.step);
		CHECK_EQ(rule.cfa_add, mark < 3 ? mark : 0);
		CHECK_EQ(rule.cfa, mark < 3 ? UNWIND_CFA_SP : UNWIND_CFA_NONE);
		drop(&made);
	}
	/* Those that are there are found again. */
	make(&made, 1, 8000, 7999, 2);
	CHECK_EQ(unwind_maps_add(rig.maps, &made.file, &first), 0);
	check_made(&rig, &made, first);
	/* Those of a file that goes make room for others, but for what another file has, too. */
	unwind_maps_remove(rig.maps, firsts[1], 1);
	unwind_maps_remove(rig.maps, firsts[2], 1);
	unwind_maps_remove(rig.maps, firsts[3], 1);
	check_made(&rig, &made, first);
	drop(&made);
	make(&made, 1, 8000, 7999, 4);
	CHECK(!unwind_maps_crowded(rig.maps, &made.file));
	CHECK_EQ(unwind_maps_add(rig.maps, &made.file, &first), 0);
	check_made(&rig, &made, first);
	drop(&made);
	rig_close(&rig);
}

/* However many files come and go. */
TEST(rules_come_back_when_files_go)
{
	struct made made;
	uint32_t first;
	struct rig rig;

	rig_open(&rig);
	for (int16_t mark = 1; mark <= 40; mark++) {
		make(&made, 1, 1000, 999, mark);
		CHECK(!unwind_maps_crowded(rig.maps, &made.file));
		CHECK_EQ(unwind_maps_add(rig.maps, &made.file, &first), 0);
		check_made(&rig, &made, first);
		unwind_maps_remove(rig.maps, first, 1);
		drop(&made);
	}
	rig_close(&rig);
}
