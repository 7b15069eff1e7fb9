/* SPDX-License-Identifier: BSD-2-Clause */
/* recorders.c: tests of how recorders are announced and found. */
#include "test.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "util/recorders.h"

enum { MAX = 256, LOCKS = 3000 };

static struct recorder found[MAX];

static const struct recorder *find(uid_t user, pid_t pid)
{
	size_t n = recorders_find(user, found, MAX);

	for (size_t i = 0; i < n; i++)
		if (found[i].pid == pid)
			return &found[i];
	return NULL;
}

/* A process of `user` that announces itself; *err is what that returned. */
static pid_t announce(uid_t user, uid_t invoker, bool keeps, int *err)
{
	int ends[2];
	pid_t pid;

	CHECK(!pipe(ends));
	pid = fork();
	if (!pid) {
		*err = setresuid(user, user, user) ? -errno : recorder_announce(invoker, keeps);
		(void)!write(ends[1], err, sizeof(*err));
		pause();
	}
	CHECK(pid > 0 && read(ends[0], err, sizeof(*err)) == sizeof(*err));
	close(ends[0]);
	close(ends[1]);
	return pid;
}

static void end(pid_t pid)
{
	CHECK(!kill(pid, SIGKILL) && waitpid(pid, NULL, 0) == pid);
}

static void need_root(void)
{
	if (geteuid() != 0)
		test_skip("only root becomes other users");
}

TEST(recorders_are_found_until_they_end)
{
	static const struct {
		uid_t user, invoker;
		bool keeps;
	} cases[] = {
		{0, 0, false},         {0, 0, true}, {0, 12345, true}, {0, UINT32_MAX - 1, false},
		{12347, 12347, false},
	};
	enum { N = sizeof(cases) / sizeof(cases[0]) };
	pid_t pids[N];

	need_root();
	for (int i = 0; i < N; i++) {
		int err;

		pids[i] = announce(cases[i].user, cases[i].invoker, cases[i].keeps, &err);
		CHECK_EQ(err, 0);
	}
	for (int i = 0; i < N; i++) {
		const struct recorder *recorder = find(cases[i].user, pids[i]);

		CHECK(recorder && !find(cases[i].user ? 0 : 12347, pids[i]));
		recorder = find(cases[i].user, pids[i]);
		CHECK_EQ(recorder->invoker, cases[i].invoker);
		CHECK_EQ(recorder->keeps, cases[i].keeps);
	}
	for (int i = 0; i < N; i++) {
		end(pids[i]);
		CHECK(!find(cases[i].user, pids[i]));
	}
	CHECK(!unlink("/tmp/gcprof-12347.lock"));
}

/* In /tmp another user may be first. */
TEST(a_file_of_another_user_is_not_used)
{
	static const char path[] = "/tmp/gcprof-12348.lock";
	pid_t pid;
	int err, fd;

	need_root();
	fd = open(path, O_CREAT | O_EXCL | O_RDWR, 0600);
	CHECK(fd >= 0 && !fchown(fd, 12349, 12349) && !fchmod(fd, 0666));
	pid = announce(12348, 12348, false, &err);
	CHECK(err == -EPERM || err == -EACCES);
	CHECK(!find(12348, pid));
	end(pid);
	/* Nor one that others may open. */
	CHECK(!fchown(fd, 12348, 12348));
	pid = announce(12348, 12348, false, &err);
	CHECK_EQ(err, -EPERM);
	end(pid);
	CHECK(!unlink(path));
	close(fd);
}

TEST(a_user_with_many_locks_takes_little_time)
{
	static const char path[] = "/tmp/gcprof-12350.lock";
	int fd;

	need_root();
	fd = open(path, O_CREAT | O_EXCL | O_RDWR, 0600);
	CHECK(fd >= 0 && !fchown(fd, 12350, 12350));
	for (int i = 0; i < LOCKS; i++) {
		struct flock lock = {.l_type = F_WRLCK, .l_start = 4 * i, .l_len = 1};

		CHECK(!fcntl(fd, F_OFD_SETLK, &lock));
	}
	CHECK_EQ(recorders_find(12350, found, MAX), 0);
	CHECK(!unlink(path));
	close(fd);
}
