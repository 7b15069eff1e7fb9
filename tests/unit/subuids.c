// SPDX-License-Identifier: BSD-2-Clause
/* subuids.c: who pays for users that belong to another one. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "test.h"

#include "record/machine/subuids.h"

TEST(numbers_belong_to_the_user_whose_line_has_them)
{
	struct user_range ranges[USER_RANGES];
	char path[] = "/tmp/gcprof-subuid-XXXXXX";
	FILE *file = fdopen(mkstemp(path), "w");

	/* Root's containers keep their numbers; who is not a local user has none. */
	fputs("1001:200000:1000\nroot:300000:1000\nnobody:400000:10\nno such user:1:2\n"
	      "1002:what\n",
	      file);
	fclose(file);
	CHECK_EQ(subuids_parse(path, ranges), 2);
	setenv("GCPROF_TEST_SUBUID", path, 1);
	CHECK_EQ(subuid_payer(199999), 199999);
	CHECK_EQ(subuid_payer(200000), 1001);
	CHECK_EQ(subuid_payer(200999), 1001);
	CHECK_EQ(subuid_payer(201000), 201000);
	CHECK_EQ(subuid_payer(300000), 300000);
	CHECK_EQ(subuid_payer(400009), 65534);
	CHECK_EQ(subuid_payer(0), 0);
	unlink(path);
}

TEST(lines_without_end_are_cut)
{
	struct user_range ranges[USER_RANGES];
	char path[] = "/tmp/gcprof-subuid-XXXXXX";
	FILE *file = fdopen(mkstemp(path), "w");

	for (int i = 0; i < 1000; i++)
		fprintf(file, "1001:%d:10\n", i * 10);
	fclose(file);
	CHECK_EQ(subuids_parse(path, ranges), USER_RANGES);
	CHECK_EQ(subuids_parse("/nowhere", ranges), 0);
	unlink(path);
}
