/* SPDX-License-Identifier: BSD-2-Clause */
/* needs.c: tests that what a kernel lacks is named, and nothing else. */
#include <string.h>
#include <unistd.h>

#include "record/kernel/needs.h"
#include "test.h"

TEST(what_no_kernel_has_is_named_with_what_it_is_for)
{
	static const struct need needs[] = {
		{NEED_HELPER, 9999, "bpf_dream()", "99.1", "dreams"},
		{NEED_HELPER, 1, "bpf_map_lookup_elem()", "3.19", "finds"},
		{NEED_ATOMIC, 0x70, "an atomic dream", "99.4", "counts sheep"},
	};
	char text[256] = "";

	if (geteuid())
		test_skip("only root may load BPF programs");
	CHECK_EQ(needs_missing(needs, 3, text, sizeof(text)), 2);
	CHECK(!strcmp(text, "bpf_dream() (Linux 99.1), which dreams; "
			    "an atomic dream (Linux 99.4), which counts sheep"));
	CHECK_EQ(needs_missing(needs, 3, text, 20), 2);
	CHECK_EQ(strlen(text), 19);
}

TEST(a_kernel_that_records_has_all)
{
	char text[256] = "";

	if (geteuid())
		test_skip("only root may load BPF programs");
	CHECK_EQ(needs_missing(need_table, need_count, text, sizeof(text)), 0);
	CHECK(!text[0]);
}
