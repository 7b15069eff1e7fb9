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

static bool may_name(const char *path, uid_t user)
{
	struct stat st;
	int fd = open(path, O_PATH);
	bool may = fd >= 0 && !fstat(fd, &st) && regular_may_name(fd, &st, user);

	close(fd);
	return may;
}

TEST(a_file_is_named_by_its_owner_or_if_all_may_read_it_there)
{
	char folder[] = "/tmp/gcprof-regular-XXXXXX";
	uid_t self = geteuid(), other = self + 1, unknown = (uid_t)-1;
	int fd;

	CHECK(mkdtemp(folder) && !chdir(folder));
	fd = open("file", O_WRONLY | O_CREAT, 0644);
	CHECK(fd >= 0 && !fchmod(fd, 0644));
	CHECK(may_name("file", self) && !may_name("file", other) && !may_name("file", unknown));
	CHECK(!chmod(".", 0711));
	CHECK(may_name("file", other) && may_name("file", unknown));
	CHECK(!fchmod(fd, 0640));
	CHECK(may_name("file", self) && !may_name("file", other) && !may_name("file", unknown));
	CHECK(!close(fd) && !unlink("file") && !chdir("/") && !rmdir(folder));
}

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
