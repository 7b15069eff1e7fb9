/* SPDX-License-Identifier: BSD-2-Clause */
/* output_file.c: tests of what gcprof writes over, and of what it leaves alone. */
#include "test.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "util/invoker.h"
#include "util/output_file.h"

static char folder[] = "/tmp/gcprof-output-XXXXXX";

static void enter(void)
{
	CHECK(mkdtemp(folder) && !chdir(folder));
}

static void leave(void)
{
	char command[64];

	snprintf(command, sizeof(command), "rm -rf '%s'", folder);
	CHECK(!chdir("/") && system(command) == 0);
}

/* A file of four bytes. */
static void make_file(const char *path, uid_t owner)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL, 0666);

	CHECK(fd >= 0 && write(fd, "kept", 4) == 4 && !fchown(fd, owner, (gid_t)-1) && !close(fd));
}

static off_t size_of(const char *path)
{
	struct stat st;

	CHECK_EQ(stat(path, &st), 0);
	return st.st_size;
}

static void check_opens(const char *path)
{
	int fd = output_file_open(path);

	CHECK(fd >= 0 && write(fd, "x", 1) == 1 && fcntl(fd, F_GETFD) & FD_CLOEXEC && !close(fd));
}

TEST(own_files_are_made_or_emptied)
{
	struct stat st;

	enter();
	check_opens("new");
	CHECK_EQ(stat("new", &st), 0);
	CHECK_EQ(st.st_mode & 0777, 0600);
	make_file("old", geteuid());
	check_opens("old");
	CHECK_EQ(size_of("old"), 1);
	check_opens("/dev/null");
	output_file_remove("old");
	CHECK(access("old", F_OK) < 0);
	leave();
}

TEST(what_is_no_file_is_refused)
{
	struct sockaddr_un name = {.sun_family = AF_UNIX, .sun_path = "socket"};
	int fd;

	enter();
	make_file("file", geteuid());
	CHECK(!symlink("file", "link") && !symlink("nowhere", "dangling"));
	CHECK_EQ(output_file_open("link"), -ELOOP);
	CHECK_EQ(output_file_open("dangling"), -ELOOP);
	output_file_remove("link");
	CHECK_EQ(output_file_open("link"), -ELOOP);
	CHECK_EQ(output_file_open("."), -EISDIR);
	CHECK_EQ(output_file_open("none/file"), -ENOENT);
	CHECK_EQ(output_file_open("file/below"), -ENOTDIR);
	fd = socket(AF_UNIX, SOCK_STREAM, 0);
	CHECK(!bind(fd, (struct sockaddr *)&name, sizeof(name)));
	CHECK_EQ(output_file_open("socket"), -ENXIO);
	CHECK(strstr(output_file_error(-ENXIO), "not a file"));
	CHECK_EQ(size_of("file"), 4);
	leave();
}

/* A second name of a file that counts, put where an output is expected. */
TEST(second_names_are_refused)
{
	enter();
	make_file("precious", geteuid());
	CHECK(!link("precious", "gcprof.data"));
	CHECK_EQ(output_file_open("gcprof.data"), -EMLINK);
	CHECK_EQ(size_of("precious"), 4);
	leave();
}

TEST(what_others_own_is_refused)
{
	if (geteuid() != 0)
		test_skip("only root can make files of others");
	enter();
	make_file("file", 12345);
	CHECK(!mkfifo("fifo", 0666) && !chown("fifo", 12345, 12346));
	CHECK_EQ(output_file_open("file"), -EEXIST);
	CHECK_EQ(size_of("file"), 4);
	output_file_remove("file");
	CHECK_EQ(size_of("file"), 4);
	/* Nor does one without a reader make us wait. */
	CHECK_EQ(output_file_open("fifo"), -EEXIST);
	leave();
}

TEST(a_fifo_of_ones_own_is_written_to)
{
	int reader;

	enter();
	CHECK_EQ(mkfifo("fifo", 0600), 0);
	reader = open("fifo", O_RDONLY | O_NONBLOCK);
	check_opens("fifo");
	CHECK(reader >= 0 && !close(reader));
	leave();
}

TEST(opened_as_a_user_it_is_the_users)
{
	const struct invoker user = {.uid = 12345, .gid = 12346, .change = true};
	struct stat st;
	int fd;

	if (geteuid() != 0)
		test_skip("only root acts on behalf of others");
	enter();
	CHECK_EQ(output_file_open_as(&user, "new"), -EACCES);
	CHECK_EQ(chmod(".", 0777), 0);
	fd = output_file_open_as(&user, "new");
	CHECK(fd >= 0 && !fstat(fd, &st) && !close(fd));
	CHECK_EQ(st.st_uid, 12345);
	CHECK_EQ(st.st_gid, 12346);
	make_file("roots", 0);
	CHECK_EQ(output_file_open_as(&user, "roots"), -EEXIST);
	CHECK_EQ(size_of("roots"), 4);
	leave();
}

TEST(nameless_files_are_where_they_are_wanted)
{
	char path[64], target[256];
	ssize_t n;
	int fd;

	enter();
	CHECK_EQ(setenv("TMPDIR", folder, 1), 0);
	fd = output_file_nameless();
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	n = readlink(path, target, sizeof(target) - 1);
	CHECK(fd >= 0 && n > 0);
	target[n] = '\0';
	CHECK(strncmp(target, folder, strlen(folder)) == 0 && strstr(target, "(deleted)"));
	close(fd);
	/* One that cannot be used is passed over. */
	CHECK_EQ(setenv("TMPDIR", "/none", 1), 0);
	fd = output_file_nameless();
	CHECK(fd >= 0 && !close(fd));
	leave();
}
