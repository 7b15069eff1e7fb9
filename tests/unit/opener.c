// SPDX-License-Identifier: BSD-2-Clause
/* opener.c: tests of the process that opens files which others chose. */
/* Plain: workers have their limits only without sanitizers. */
#include <errno.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "fuse_rig.h"
#include "opener_rig.h"
#include "test.h"
#include "record/machine/clock.h"

TEST(the_file_that_was_mapped_is_opened)
{
	struct opener *opener = begin();
	struct module_place place;
	struct opener_file file;
	int fd;

	make_file("a", "first");
	place = place_of("a");
	fd = open_now(opener, &place, &file);
	CHECK(fd >= 0);
	CHECK_EQ(file.inode, place.inode);
	CHECK_EQ(major(file.device), place.major);
	CHECK_EQ(file.size, 5);
	CHECK_EQ(file.mode, S_IFREG | 0644);
	CHECK(file.ctime_s > 1000000000 && file.filesystem);
	CHECK(write(fd, "x", 1) < 0 && fcntl(fd, F_GETFD) == FD_CLOEXEC);
	CHECK(has_text(fd, "first"));
	/* Another one is in its place, or none, or only a link. */
	CHECK(!rename("a", "b"));
	CHECK_EQ(open_now(opener, &place, NULL), -ENOENT);
	make_file("a", "other");
	CHECK_EQ(open_now(opener, &place, NULL), -ESTALE);
	CHECK(!unlink("a") && !symlink("b", "a"));
	CHECK_EQ(open_now(opener, &place, NULL), -ELOOP);
	CHECK_EQ(opener_trouble(opener), NULL);
	end(opener);
}

/* A process that has a file mapped and waits. */
static pid_t map_file(const char *name, struct module_place *place)
{
	int fd = open(name, O_RDONLY);
	void *at = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
	pid_t pid;

	CHECK(at != MAP_FAILED);
	pid = fork();
	if (pid == 0) {
		for (;;)
			pause();
	}
	place->start = (uintptr_t)at;
	place->end = place->start + 4096;
	place->pid = (uint32_t)pid;
	munmap(at, 4096);
	close(fd);
	return pid;
}

TEST(a_file_that_was_deleted_is_opened_through_its_process)
{
	struct opener *opener = begin();
	struct module_place place;
	pid_t pid;

	make_file("a", "first");
	place = place_of("a");
	pid = map_file("a", &place);
	CHECK(!unlink("a"));
	CHECK(has_text(open_now(opener, &place, NULL), "first"));
	/* The kernel's number is not the one that stat() shows. */
	place.inode++;
	CHECK_EQ(open_now(opener, &place, NULL), -ESTALE);
	kill(pid, SIGKILL);
	CHECK_EQ(waitpid(pid, NULL, 0), pid);
	CHECK_EQ(open_now(opener, &place, NULL), -ENOENT);
	end(opener);
}

TEST(pipes_and_devices_are_not_opened)
{
	struct opener *opener = begin();
	struct module_place place;
	uint64_t began = clock_now();

	CHECK(!mkfifo("fifo", 0666));
	place = place_of("fifo");
	CHECK_EQ(open_now(opener, &place, NULL), -EINVAL);
	place = place_of("../../dev/null");
	CHECK_EQ(open_now(opener, &place, NULL), -EINVAL);
	place = place_of(".");
	CHECK_EQ(open_now(opener, &place, NULL), -EINVAL);
	/* Who waits for one waits for 2 s. */
	CHECK(clock_now() - began < UINT64_C(5000000000));
	end(opener);
}

TEST(a_lease_makes_nobody_wait)
{
	struct opener *opener = begin();
	struct module_place place;
	uint64_t began = clock_now();
	int fd;

	signal(SIGIO, SIG_IGN);
	make_file("a", "first");
	place = place_of("a");
	fd = open("a", O_RDWR);
	CHECK(fd >= 0 && !fcntl(fd, F_SETLEASE, F_WRLCK));
	CHECK_EQ(open_now(opener, &place, NULL), -EWOULDBLOCK);
	/* It would be taken away after 45 s. */
	CHECK(clock_now() - began < UINT64_C(10000000000));
	CHECK(!close(fd));
	CHECK(has_text(open_now(opener, &place, NULL), "first"));
	end(opener);
}

TEST(a_user_gets_only_what_the_user_may_read)
{
	const struct invoker user = {.uid = 1001, .gid = 1001, .change = true};
	struct opener *opener = begin();
	char path[256];
	int fd;

	CHECK_EQ(geteuid(), 0);
	make_file("open", "open");
	make_file("secret", "secret");
	CHECK(!chmod("secret", 0600) && !symlink("secret", "link") && !mkfifo("fifo", 0666));
	snprintf(path, sizeof(path), "%s/open", folder);
	CHECK_EQ(opener_open_user(opener, path, &user, NULL), -EACCES);
	CHECK(!chmod(".", 0755));
	CHECK(has_text(opener_open_user(opener, path, &user, NULL), "open"));
	fd = opener_open_user(opener, "open", &user, NULL);
	CHECK(has_text(fd, "open"));
	CHECK_EQ(opener_open_user(opener, "secret", &user, NULL), -EACCES);
	CHECK_EQ(opener_open_user(opener, "link", &user, NULL), -EACCES);
	CHECK_EQ(opener_open_user(opener, "fifo", &user, NULL), -EINVAL);
	CHECK_EQ(opener_open_user(opener, "nothing", &user, NULL), -ENOENT);
	end(opener);
}

struct seen {
	int n, err[8];
};

static void see(void *context, const struct opener_result *result)
{
	struct seen *seen = context;

	seen->err[seen->n++] = result->err;
	if (result->fd >= 0)
		close(result->fd);
}

TEST(requests_end_in_their_order_without_waiting)
{
	struct opener *opener = begin();
	struct module_place place, none;
	struct seen seen = {0};
	uint64_t limit = clock_now() + UINT64_C(10000000000);

	make_file("a", "first");
	place = none = place_of("a");
	none.inode++;
	CHECK_EQ(opener_open(opener, &place, see, &seen), 0);
	CHECK_EQ(opener_open(opener, &none, see, &seen), 0);
	CHECK_EQ(opener_open(opener, &place, see, &seen), 0);
	CHECK_EQ(opener_waiting(opener), 3);
	CHECK_EQ(seen.n, 0);
	while (opener_waiting(opener) && clock_now() < limit)
		opener_turn(opener);
	CHECK_EQ(seen.n, 3);
	CHECK_EQ(seen.err[0] | seen.err[2], 0);
	CHECK_EQ(seen.err[1], -ESTALE);
	/* What still waits at the end ends. */
	CHECK_EQ(opener_open(opener, &place, see, &seen), 0);
	end(opener);
	CHECK_EQ(seen.n, 4);
	CHECK_EQ(seen.err[3], -ECANCELED);
}

TEST(no_more_wait_than_there_is_room_for)
{
	struct opener *opener = begin();
	struct module_place place;
	int err = 0, n = 0;

	make_file("a", "first");
	place = place_of("a");
	struct seen *seen = calloc(5000, sizeof(*seen));
	CHECK(seen);
	while (n < 5000 && !err)
		err = opener_open(opener, &place, see, &seen[n++]);
	CHECK_EQ(err, -ENOBUFS);
	CHECK(n > 1000);
	CHECK(opener_settle(opener, UINT64_C(60000000000)));
	for (int i = 0; i < n - 1; i++)
		CHECK(seen[i].n == 1 && !seen[i].err[0]);
	free(seen);
	end(opener);
}

/* So often that a pause of this machine is not taken for the 2 s that each would take. */
enum { AGAIN = 10 };

TEST(a_file_system_that_does_not_answer_holds_up_nobody_else)
{
	struct opener *opener = begin();
	struct module_place silent, file;
	struct seen seen = {0};
	struct fuse_rig rig;
	uint64_t began, turns = 0, slow = 0;
	char path[256];

	CHECK(!mkdir("fuse", 0755));
	rig = fuse_rig_begin("fuse");
	silent = place_of("fuse/silent");
	snprintf(path, sizeof(path), "%s", silent.path);
	silent.path = path;
	silent.pid = 0;
	make_file("a", "first");
	file = place_of("a");
	CHECK_EQ(opener_open(opener, &silent, see, &seen), 0);
	CHECK_EQ(opener_open(opener, &file, see, &seen), 0);
	began = clock_now();
	while (opener_waiting(opener) && clock_now() - began < UINT64_C(20000000000)) {
		uint64_t before = clock_now();

		opener_turn(opener);
		/* Others use this machine, too. */
		slow += clock_now() - before > UINT64_C(50000000);
		turns++;
	}
	CHECK_EQ(seen.n, 2);
	CHECK_EQ(seen.err[0], -ETIME);
	CHECK_EQ(seen.err[1], 0);
	CHECK(clock_now() - began > UINT64_C(1900000000) && turns > 20);
	CHECK(slow <= turns / 20);
	CHECK(strstr(trouble_of(opener), "fuse/silent: not opened: its file system did not answer "
					 "within 2 s; its functions have no names"));
	/* It is not tried again, whatever the file; others are. */
	began = clock_now();
	for (int i = 0; i < AGAIN; i++) {
		CHECK_EQ(open_now(opener, &silent, NULL), -ETIME);
		CHECK_EQ(opener_trouble(opener), NULL);
		CHECK(has_text(open_now(opener, &file, NULL), "first"));
	}
	CHECK(clock_now() - began < AGAIN * UINT64_C(1000000000));
	fuse_rig_end(&rig);
	end(opener);
}

enum { SILENT = 10 };

/* Each is another device, so each is tried. */
TEST(file_systems_of_one_user_leave_others_their_openers)
{
	struct opener *opener = begin();
	struct module_place file, silent[SILENT];
	struct seen seen[SILENT] = {0}, honest = {0};
	char name[32], paths[SILENT][256];
	struct fuse_rig rigs[SILENT];
	size_t full = 0;

	make_file("a", "first");
	file = place_of("a");
	for (int i = 0; i < SILENT; i++) {
		snprintf(name, sizeof(name), "fuse%d", i);
		CHECK(!mkdir(name, 0755));
		rigs[i] = fuse_rig_begin(name);
		strcat(name, "/silent");
		silent[i] = place_of(name);
		snprintf(paths[i], sizeof(paths[i]), "%s", silent[i].path);
		silent[i].path = paths[i];
		silent[i].pid = 0;
		silent[i].user = 1001;
		CHECK_EQ(opener_open(opener, &silent[i], see, &seen[i]), 0);
	}
	file = place_of("a");
	CHECK_EQ(opener_open(opener, &file, see, &honest), 0);
	while (!honest.n)
		opener_turn(opener);
	/* It had waited for one of them only. */
	CHECK_EQ(honest.err[0], 0);
	CHECK(!seen[1].n);
	CHECK(opener_settle(opener, UINT64_C(60000000000)));
	for (int i = 0; i < SILENT; i++)
		full += seen[i].err[0] == -EMFILE;
	CHECK(full > 0 && full < SILENT);
	CHECK(has_text(open_now(opener, &file, NULL), "first"));
	for (int i = 0; i < SILENT; i++)
		fuse_rig_end(&rigs[i]);
	end(opener);
}

TEST(a_path_that_nobody_answers_for_is_left_with_its_process)
{
	struct opener *opener = begin();
	struct module_place deep, file;
	struct fuse_rig rig;
	char path[256];

	CHECK(!mkdir("fuse", 0755));
	rig = fuse_rig_begin("fuse");
	make_file("a", "first");
	deep = file = place_of("a");
	snprintf(path, sizeof(path), "%s/fuse/deep/a", folder);
	deep.path = path;
	deep.pid = 0x7ffffff1;
	CHECK_EQ(open_now(opener, &deep, NULL), -ETIME);
	CHECK(strstr(trouble_of(opener), "fuse/deep/a: not opened"));
	/* What else that process mapped is not tried; files of others are, on any file system. */
	deep.path = file.path;
	CHECK_EQ(open_now(opener, &deep, NULL), -ETIME);
	CHECK(has_text(open_now(opener, &file, NULL), "first"));
	fuse_rig_end(&rig);
	end(opener);
}

/* --- debug files, perf maps --------------------------------------------------------------- */

static int open_debug(struct opener *opener, int program, enum debug_kind kind, const char *name)
{
	struct debug_wanted wanted = {.kind = kind};
	struct opener_result result = {.err = 1};

	snprintf(wanted.name, sizeof(wanted.name), "%s", name);
	CHECK_EQ(opener_debug(opener, &(struct opener_who){0}, program, &wanted, keep_result,
			      &result),
		 0);
	CHECK(opener_settle(opener, UINT64_C(10000000000)));
	return result.err ? result.err : result.fd;
}

TEST(debug_files_are_found_by_name_if_everybody_may_read_them)
{
	struct opener *opener = begin();
	int program;

	make_file("program", "program");
	make_file("beside.debug", "beside");
	CHECK(!mkdir(".debug", 0755));
	make_file(".debug/below.debug", "below");
	make_file("secret.debug", "secret");
	CHECK(!chmod("secret.debug", 0600) && !mkfifo("fifo.debug", 0666));
	/* Of another user than the program, who may have named any of its own. */
	CHECK(geteuid() || !chown("secret.debug", 12345, 12345));
	program = open("program", O_RDONLY);
	CHECK(has_text(open_debug(opener, program, DEBUG_BESIDE, "beside.debug"), "beside"));
	CHECK(has_text(open_debug(opener, program, DEBUG_BELOW, "below.debug"), "below"));
	CHECK(has_text(open_debug(opener, program, DEBUG_SHARED, "beside.debug"), "beside"));
	CHECK_EQ(open_debug(opener, program, DEBUG_ELSEWHERE, "beside.debug"), -ENOENT);
	if (!geteuid())
		CHECK_EQ(open_debug(opener, program, DEBUG_BESIDE, "secret.debug"), -EACCES);
	CHECK_EQ(open_debug(opener, program, DEBUG_BESIDE, "fifo.debug"), -EINVAL);
	CHECK_EQ(open_debug(opener, program, DEBUG_BESIDE, ".debug/below.debug"), -ENOENT);
	CHECK_EQ(open_debug(opener, program, DEBUG_BESIDE, "../../etc/passwd"), -ENOENT);
	CHECK_EQ(open_debug(opener, program, DEBUG_SHARED, "/.dwz/../../../../etc/passwd"),
		 -ENOENT);
	close(program);
	end(opener);
}

static int open_temporary(struct opener *opener, pid_t pid)
{
	struct opener_result result = {.err = 1};

	CHECK_EQ(opener_temporary(opener, (uint32_t)pid, keep_result, &result), 0);
	CHECK(opener_settle(opener, UINT64_C(10000000000)));
	return result.err ? result.err : result.fd;
}

static int open_map(struct opener *opener, const struct code_owner *owner)
{
	struct opener_result result = {.err = 1};

	CHECK_EQ(opener_map(opener, owner, keep_result, &result), 0);
	CHECK(opener_settle(opener, UINT64_C(10000000000)));
	return result.err ? result.err : result.fd;
}

TEST(a_perf_map_is_opened_for_the_process_that_wrote_it)
{
	struct timespec old[2] = {{.tv_sec = 1000000}, {.tv_sec = 1000000}};
	struct opener *opener = begin();
	struct code_owner owner;
	char path[64];

	CHECK_EQ(code_owner_find((uint32_t)getpid(), &owner), 0);
	CHECK_EQ(owner.number, getpid());
	CHECK_EQ(owner.user, geteuid());
	/* It sees the same /tmp. */
	CHECK_EQ(open_temporary(opener, getpid()), -ENOENT);
	snprintf(path, sizeof(path), "/tmp/perf-%d.map", getpid());
	make_file(path, "1000 10 f\n");
	CHECK(has_text(open_map(opener, &owner), "1000 10 f\n"));
	/* Left over from another process of that number. */
	CHECK(!utimensat(AT_FDCWD, path, old, 0));
	CHECK_EQ(open_map(opener, &owner), -EPERM);
	make_file(path, "1000 10 f\n");
	/* A second name: perhaps another user's link. */
	CHECK(!link(path, "link"));
	CHECK_EQ(open_map(opener, &owner), -EPERM);
	CHECK(!unlink(path) && !symlink("link", path));
	CHECK(open_map(opener, &owner) < 0);
	CHECK(!unlink(path) && !mkfifo(path, 0666));
	CHECK_EQ(open_map(opener, &owner), -EINVAL);
	CHECK(!unlink(path));
	CHECK_EQ(open_map(opener, &owner), -ENOENT);
	make_file(path, "1000 10 f\n");
	if (!geteuid()) {
		CHECK(!chown(path, 65534, 65534));
		CHECK_EQ(open_map(opener, &owner), -EPERM);
	}
	CHECK(!unlink(path));
	/* The process is gone. */
	CHECK_EQ(open_temporary(opener, 0x7ffffff0), -ENOENT);
	CHECK(code_owner_find(0x7ffffff0, &owner) < 0);
	end(opener);
}

/* A process may see a /tmp of its own making. */
TEST(a_folder_for_perf_maps_that_does_not_answer_holds_up_the_opener_only)
{
	struct opener *opener = begin();
	struct code_owner owner;
	struct fuse_rig rig;
	int ready[2];
	pid_t child;
	char byte;

	CHECK(!mkdir("fuse", 0755) && !pipe(ready));
	rig = fuse_rig_begin("fuse");
	child = fork();
	CHECK(child >= 0);
	if (child == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
		if (chroot("fuse") || write(ready[1], "", 1) != 1)
			_exit(1);
		pause();
	}
	CHECK_EQ(read(ready[0], &byte, 1), 1);
	CHECK_EQ(code_owner_find((uint32_t)child, &owner), 0);
	CHECK_EQ(owner.temporary, -1);
	CHECK_EQ(open_temporary(opener, child), -ETIME);
	CHECK(strstr(trouble_of(opener), "/root/tmp: not opened"));
	kill(child, SIGKILL);
	CHECK_EQ(waitpid(child, NULL, 0), child);
	fuse_rig_end(&rig);
	end(opener);
}

TEST(what_nobody_waits_for_any_more_is_not_reported)
{
	struct opener *opener = begin();
	struct module_place place;
	struct seen kept = {0}, left = {0};

	make_file("a", "first");
	place = place_of("a");
	CHECK_EQ(opener_open(opener, &place, see, &left), 0);
	CHECK_EQ(opener_open(opener, &place, see, &kept), 0);
	opener_cancel(opener, &left);
	CHECK(opener_settle(opener, UINT64_C(10000000000)));
	CHECK(left.n == 0 && kept.n == 1);
	end(opener);
}
