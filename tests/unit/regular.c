// SPDX-License-Identifier: BSD-2-Clause
/* regular.c: tests that of what paths lead to only regular files are opened. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "test.h"
#include "util/regular.h"

TEST(only_regular_files_are_opened)
{
	char folder[] = "/tmp/gcprof-regular-XXXXXX", byte = 0;
	struct stat st;
	int fd;

	CHECK(mkdtemp(folder) && !chdir(folder));
	fd = open("file", O_WRONLY | O_CREAT, 0600);
	CHECK(fd >= 0 && write(fd, "x", 1) == 1 && !close(fd));
	CHECK(!symlink("file", "link") && !symlink("/dev/null", "device") && !mkfifo("fifo", 0600));
	CHECK_EQ(regular_open("nothing", &st), -1);
	CHECK_EQ(errno, ENOENT);
	CHECK_EQ(regular_open("device", &st), -1);
	CHECK_EQ(errno, EINVAL);
	/* Nor does a fifo without a writer make anybody wait. */
	CHECK_EQ(regular_open("fifo", &st), -1);
	CHECK_EQ(regular_open(".", &st), -1);
	fd = regular_open("link", &st);
	CHECK(fd >= 0 && st.st_size == 1 && read(fd, &byte, 1) == 1 && byte == 'x');
	CHECK(write(fd, "y", 1) < 0);
	close(fd);
	CHECK(!unlink("file") && !unlink("link") && !unlink("device") && !unlink("fifo"));
	CHECK(!chdir("/") && !rmdir(folder));
}
