/* SPDX-License-Identifier: BSD-2-Clause */
/* remote_names.c: tests of what is kept of names that are in the memory of processes. */
#include "test.h"

#include <stdlib.h>
#include <string.h>

#include "record/symbolize/frame_parts.h"
#include "runtimes/name_reader.h"

/* Names as long as they can be count whole: how many fit says so. */
TEST(names_of_a_user_take_no_more_than_a_share)
{
	static const struct name_reader reader = {.library = "libtest"};
	static char text[2049];
	const struct event_mmap mapping = {.header.tid = 1};
	const struct symbol long_name = {.name = text, .file = text}, *symbols;
	struct symbol_frame frame = {.space = SYMBOL_REMOTE, .owner = 1, .user = 1000};
	struct remote_names *remote;
	struct opener *opener;
	struct files *files;
	size_t bytes = 0, n, kept = 0;

	memset(text, 'n', sizeof(text) - 1);
	CHECK_EQ(opener_create(false, &opener), 0);
	CHECK_EQ(files_create(opener, &files), 0);
	CHECK_EQ(remote_names_create(files, &remote), 0);
	remote_names_map(remote, 1, &mapping, &reader, 1000);
	for (frame.place = 1; frame.place < 100000; frame.place++) {
		CHECK_EQ(remote_names_meet(remote, 1, frame.place), 0);
		CHECK_EQ(remote_names_answer(remote, &frame, &long_name, 1), 0);
	}
	for (frame.place = 1; frame.place < 100000; frame.place++) {
		if (remote_names_find(remote, 1, frame.place, &symbols, &n) != REMOTE_NAMED || !n)
			continue;
		bytes += strlen(symbols[0].name) + strlen(symbols[0].file);
		kept++;
	}
	CHECK(kept > 1000);
	CHECK(bytes < 48 << 20);
	/* Another user's still fit. */
	remote_names_map(remote, 2, &mapping, &reader, 1001);
	frame = (struct symbol_frame){.space = SYMBOL_REMOTE, .owner = 2, .place = 1, .user = 1001};
	CHECK_EQ(remote_names_meet(remote, 2, 1), 0);
	CHECK_EQ(remote_names_answer(remote, &frame, &long_name, 1), 0);
	CHECK_EQ(remote_names_find(remote, 2, 1, &symbols, &n), REMOTE_NAMED);
	CHECK_EQ(n, 1);
	remote_names_free(remote);
	files_free(files);
	opener_free(opener);
}
