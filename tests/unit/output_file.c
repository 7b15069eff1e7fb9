/* SPDX-License-Identifier: BSD-2-Clause */
/* output_file.c: tests of what gcprof writes over, and of what it leaves alone. */
#include "test.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "record/machine/user_task.h"
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

/* What the tests write begins with "x", as the files of make_file() do not. */
static const struct output_mark mark = {0, "x"}, kept_mark = {0, "kept"};

static int open_error(const char *path)
{
	struct output_file file = {.path = path, .mark = &kept_mark};
	int err = output_file_open(&file);

	output_file_close(&file);
	return err;
}

static void open_and_write(struct output_file *file)
{
	CHECK_EQ(output_file_open(file), 0);
	CHECK(file->fd > STDERR_FILENO && fcntl(file->fd, F_GETFD) & FD_CLOEXEC);
	CHECK_EQ(write(file->fd, "x", 1), 1);
}

static void check_writes(const char *path, const struct output_mark *its_mark)
{
	struct output_file file = {.path = path, .mark = its_mark};

	open_and_write(&file);
	CHECK_EQ(output_file_publish(&file), 0);
	output_file_close(&file);
}

/* The number of entries in the folder. */
static int count_files(void)
{
	DIR *files = opendir(".");
	int count = 0;

	while (readdir(files))
		count++;
	closedir(files);
	return count - 2;
}

TEST(own_files_are_made_or_replaced)
{
	struct stat st;

	enter();
	check_writes("new", &mark);
	CHECK_EQ(stat("new", &st), 0);
	CHECK_EQ(st.st_mode & 0777, 0600);
	make_file("old", geteuid());
	CHECK_EQ(chmod("old", 0644), 0);
	check_writes("old", &kept_mark);
	CHECK_EQ(stat("old", &st), 0);
	CHECK_EQ(st.st_size, 1);
	CHECK_EQ(st.st_mode & 0777, 0644);
	check_writes("/dev/null", &mark);
	CHECK_EQ(count_files(), 2);
	output_file_remove("old");
	CHECK(access("old", F_OK) < 0);
	leave();
}

TEST(a_file_appears_only_when_it_is_published)
{
	struct output_file file = {.path = "file", .mark = &kept_mark};

	enter();
	open_and_write(&file);
	CHECK(access("file", F_OK) < 0);
	output_file_close(&file);
	make_file("file", geteuid());
	open_and_write(&file);
	CHECK_EQ(size_of("file"), 4);
	output_file_close(&file);
	CHECK_EQ(size_of("file"), 4);
	CHECK_EQ(count_files(), 1);
	leave();
}

/* As on a file system on which every file has a name. */
TEST(a_file_with_a_temporary_name_is_published_or_removed)
{
	struct output_file file = {.path = "file", .mark = &mark};
	char opened[32];

	enter();
	for (int published = 0; published < 2; published++) {
		open_and_write(&file);
		snprintf(opened, sizeof(opened), "/proc/self/fd/%d", file.fd);
		strcpy(file.temporary, ".temporary");
		CHECK_EQ(linkat(AT_FDCWD, opened, AT_FDCWD, ".temporary", AT_SYMLINK_FOLLOW), 0);
		CHECK(!published || !output_file_publish(&file));
		output_file_close(&file);
		CHECK_EQ(access("file", F_OK), published - 1);
		CHECK_EQ(count_files(), published);
	}
	leave();
}

TEST(files_without_the_mark_are_refused_and_empty_ones_are_not)
{
	enter();
	make_file("notes", geteuid());
	CHECK_EQ(open_error("notes"), 0);
	for (size_t i = 0; i < 3; i++) {
		const struct output_mark marks[] = {{1, "kept"}, {-1, "keep"}, {0, NULL}};
		struct output_file file = {.path = "notes", .mark = &marks[i]};

		CHECK_EQ(output_file_open(&file), -ENOTUNIQ);
		output_file_close(&file);
	}
	CHECK_EQ(size_of("notes"), 4);
	CHECK_EQ(truncate("notes", 0), 0);
	check_writes("notes", &mark);
	CHECK_EQ(size_of("notes"), 1);
	leave();
}

static bool is_taken_for_stacks(const char *text)
{
	static const struct output_mark stacks = {0, NULL};
	struct output_file file = {.path = "stacks", .mark = &stacks};
	FILE *out = fopen("stacks", "w");
	int err;

	CHECK(out && fputs(text, out) >= 0 && !fclose(out));
	err = output_file_open(&file);
	CHECK(!err || err == -ENOTUNIQ);
	output_file_close(&file);
	return !err;
}

TEST(folded_stacks_are_recognised_by_their_lines)
{
	enter();
	CHECK(is_taken_for_stacks("main;run 12\nmain 3\n"));
	CHECK(is_taken_for_stacks("main;run 12\nmain;cut of"));
	CHECK(!is_taken_for_stacks("total 12\n-rw------- 1 root notes;txt\n"));
	CHECK(!is_taken_for_stacks("int main(void);\n"));
	CHECK(!is_taken_for_stacks("words 12\nother 3\n"));
	leave();
}

TEST(an_earlier_file_is_kept_until_the_next_one)
{
	struct output_file file = {.path = "file", .mark = &kept_mark, .keep = true};

	enter();
	make_file("file", geteuid());
	open_and_write(&file);
	CHECK(access("file.old", F_OK) < 0);
	CHECK_EQ(output_file_publish(&file), 0);
	output_file_close(&file);
	CHECK_EQ(size_of("file.old"), 4);
	CHECK_EQ(size_of("file"), 1);
	/* Somebody's own file of that name is not replaced. */
	CHECK(!unlink("file") && !unlink("file.old"));
	make_file("file", geteuid());
	check_writes("file.old", &mark);
	CHECK_EQ(output_file_open(&file), -ENOTEMPTY);
	output_file_close(&file);
	CHECK_EQ(size_of("file"), 4);
	leave();
}

TEST(a_file_is_not_published_in_another_folder)
{
	struct output_file file = {.path = "folder/file", .mark = &mark};

	enter();
	CHECK(!mkdir("folder", 0700) && !mkdir("other", 0700));
	open_and_write(&file);
	CHECK(!rename("folder", "was") && !symlink("other", "folder"));
	CHECK_EQ(output_file_publish(&file), -ESTALE);
	output_file_close(&file);
	CHECK(access("other/file", F_OK) < 0 && access("was/file", F_OK) < 0);
	leave();
}

TEST(what_is_no_file_is_refused)
{
	struct sockaddr_un name = {.sun_family = AF_UNIX, .sun_path = "socket"};
	int fd;

	enter();
	make_file("file", geteuid());
	CHECK(!symlink("file", "link") && !symlink("nowhere", "dangling"));
	CHECK_EQ(open_error("link"), -ELOOP);
	CHECK_EQ(open_error("dangling"), -ELOOP);
	output_file_remove("link");
	CHECK_EQ(open_error("link"), -ELOOP);
	CHECK_EQ(open_error("."), -EISDIR);
	CHECK_EQ(open_error("none/file"), -ENOENT);
	CHECK_EQ(open_error("file/below"), -ENOTDIR);
	fd = socket(AF_UNIX, SOCK_STREAM, 0);
	CHECK(!bind(fd, (struct sockaddr *)&name, sizeof(name)));
	CHECK_EQ(open_error("socket"), -ENXIO);
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
	CHECK_EQ(open_error("gcprof.data"), -EMLINK);
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
	CHECK_EQ(open_error("file"), -EEXIST);
	CHECK_EQ(size_of("file"), 4);
	output_file_remove("file");
	CHECK_EQ(size_of("file"), 4);
	/* Nor does one without a reader make us wait. */
	CHECK_EQ(open_error("fifo"), -EEXIST);
	leave();
}

TEST(a_fifo_of_ones_own_is_written_to)
{
	int reader;

	enter();
	CHECK_EQ(mkfifo("fifo", 0600), 0);
	reader = open("fifo", O_RDONLY | O_NONBLOCK);
	check_writes("fifo", &mark);
	CHECK(reader >= 0 && !close(reader));
	leave();
}

TEST(opened_as_a_user_it_is_the_users)
{
	const struct invoker user = {.uid = 12345, .gid = 12346, .change = true};
	struct output_file file = {.path = "new", .mark = &mark, .keep = true};
	struct stat st;

	if (geteuid() != 0)
		test_skip("only root acts on behalf of others");
	enter();
	CHECK_EQ(output_file_open_as(&user, &file), -EACCES);
	CHECK_EQ(chmod(".", 0777), 0);
	for (int i = 0; i < 2; i++) {
		CHECK_EQ(output_file_open_as(&user, &file), 0);
		CHECK_EQ(write(file.fd, "x", 1), 1);
		CHECK_EQ(output_file_publish_as(&user, &file), 0);
		output_file_close_as(&user, &file);
	}
	CHECK(!stat("new", &st) && !access("new.old", F_OK));
	CHECK_EQ(st.st_uid, 12345);
	CHECK_EQ(st.st_gid, 12346);
	make_file("roots", 0);
	file.path = "roots";
	CHECK_EQ(output_file_open_as(&user, &file), -EEXIST);
	output_file_close_as(&user, &file);
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
