/* SPDX-License-Identifier: BSD-2-Clause */
/* user_task.c: tests of acting with another user's rights in a process of its own. */
#include "test.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "record/machine/user_task.h"
#include "record/target/user_main.h"
#include "util/monotonic.h"
#include "util/proc_file.h"

static const struct invoker user = {.uid = 12345, .gid = 12346, .change = true};
static const struct user_input nothing = {"", 0, -1};

static void need_root(void)
{
	if (geteuid() != 0)
		test_skip("only root acts on behalf of others");
}

/* --- tasks of the process ------------------------------------------------------------------- */

static int open_by_name(const struct user_input *path, char *text, size_t size)
{
	int fd = open(path->data, O_RDONLY | O_CLOEXEC);

	snprintf(text, size, "%d %d", (int)getuid(), (int)getegid());
	return fd < 0 ? -errno : fd;
}

static int die(const struct user_input *input, char *text, size_t size)
{
	(void)input, (void)text, (void)size;
	_exit(1);
}

static int stop(const struct user_input *input, char *text, size_t size)
{
	(void)input, (void)text, (void)size;
	return raise(SIGSTOP) ? -errno : -EALREADY;
}

/* What it has: descriptors up to 100, and the environment. */
static int look(const struct user_input *input, char *text, size_t size)
{
	size_t used = 0;

	(void)input;
	for (int fd = 0; fd < 100; fd++)
		if (fcntl(fd, F_GETFD) >= 0)
			used += (size_t)snprintf(text + used, size - used, "%d ", fd);
	for (char **variable = environ; *variable; variable++)
		used += (size_t)snprintf(text + used, size - used, "%.20s ", *variable);
	snprintf(text + used, size - used, "%s", getenv("SECRET") ? "secret" : "");
	return -ENODATA;
}

static int say_pid(const struct user_input *input, char *text, size_t size)
{
	(void)input;
	snprintf(text, size, "%d", (int)getpid());
	return -ENODATA;
}

static const struct user_task open_task = {"open", open_by_name}, die_task = {"die", die},
			      stop_task = {"stop", stop}, look_task = {"look", look},
			      pid_task = {"pid", say_pid}, unknown_task = {"unknown", die};

int user_main(void)
{
	const struct user_task *const tasks[] = {&open_task, &die_task, &stop_task, &look_task,
						 &pid_task};

	return user_serve(tasks, sizeof(tasks) / sizeof(tasks[0]));
}

/* --- tests ---------------------------------------------------------------------------------- */

TEST(a_task_has_the_rights_of_the_user)
{
	char path[] = "/tmp/gcprof-user-XXXXXX", text[64] = "", byte = 0;
	const struct user_input input = {path, sizeof(path), -1}, none = {"/none", 6, -1};
	const struct invoker root = {.uid = 0};
	int fd;

	need_root();
	fd = mkstemp(path);
	CHECK(fd >= 0 && write(fd, "x", 1) == 1 && !close(fd));
	CHECK_EQ(user_call(&user, &open_task, &input, text, sizeof(text)), -EACCES);
	CHECK_STR(text, "12345 12346");
	CHECK(!chmod(path, 0644));
	fd = user_call(&user, &open_task, &input, text, sizeof(text));
	CHECK(fd >= 0 && read(fd, &byte, 1) == 1 && byte == 'x');
	CHECK(fcntl(fd, F_GETFD) & FD_CLOEXEC);
	close(fd);
	CHECK_EQ(user_call(&user, &open_task, &none, text, sizeof(text)), -ENOENT);
	fd = user_call(&root, &open_task, &input, text, sizeof(text));
	CHECK(fd >= 0 && !close(fd));
	CHECK_STR(text, "0 0");
	CHECK_EQ(unlink(path), 0);
	CHECK_EQ(geteuid(), 0);
}

TEST(another_user_has_another_process)
{
	const struct invoker other = {.uid = 12347, .gid = 12346, .change = true};
	const struct invoker *users[] = {&user, &user, &other, &user};
	char text[64] = "", before[64] = "", wanted[64];
	const struct user_input input = {"/", 2, -1};
	int fd;

	need_root();
	for (int i = 0; i < 4; i++) {
		fd = user_call(users[i], &open_task, &input, text, sizeof(text));
		CHECK(fd >= 0 && !close(fd));
		snprintf(wanted, sizeof(wanted), "%u 12346", (unsigned)users[i]->uid);
		CHECK_STR(text, wanted);
	}
	CHECK_EQ(user_call(&user, &pid_task, &nothing, before, sizeof(before)), -ENODATA);
	CHECK_EQ(user_call(&user, &pid_task, &nothing, text, sizeof(text)), -ENODATA);
	CHECK_STR(text, before);
}

TEST(a_task_that_dies_or_is_unknown_is_an_error)
{
	char text[8];

	need_root();
	CHECK_EQ(user_call(&user, &die_task, &nothing, NULL, 0), -EPIPE);
	/* Another one takes its place. */
	CHECK_EQ(user_call(&user, &pid_task, &nothing, text, sizeof(text)), -ENODATA);
	CHECK_EQ(user_call(&user, &unknown_task, &nothing, NULL, 0), -ENOSYS);
}

/* That user can stop it at any time. */
TEST(a_task_that_is_stopped_ends_in_time)
{
	uint64_t began = monotonic_ns();
	char text[8];

	need_root();
	CHECK_EQ(user_call(&user, &stop_task, &nothing, NULL, 0), -ETIMEDOUT);
	CHECK(monotonic_ns() - began < UINT64_C(30000000000));
	CHECK_EQ(user_call(&user, &pid_task, &nothing, text, sizeof(text)), -ENODATA);
}

TEST(the_process_has_nothing_of_its_parent)
{
	char text[256] = "";
	int first = open("/dev/null", O_RDONLY);

	need_root();
	CHECK(first > 0 && dup2(first, 50) == 50 && !setenv("SECRET", "s", 1));
	CHECK_EQ(user_call(&user, &look_task, &nothing, text, sizeof(text)), -ENODATA);
#ifdef __SANITIZE_ADDRESS__
	CHECK(!strncmp(text, "0 2 GCPROF_UID=", 15)); /* sanitizers print to standard error */
#else
	CHECK(!strncmp(text, "0 GCPROF_UID=", 13));
#endif
	CHECK(!strstr(text, "50 ") && !strstr(text, "secret"));
}

TEST(the_process_dies_with_its_parent_even_if_it_is_stopped)
{
	int ends[2], status;
	struct pollfd end = {.events = POLLIN};
	pid_t parent, child = 0;

	need_root();
	CHECK(!pipe(ends));
	parent = fork();
	if (!parent) {
		char text[16] = "";

		if (user_call(&user, &pid_task, &nothing, text, sizeof(text)) == -ENODATA)
			child = atoi(text);
		(void)!write(ends[1], &child, sizeof(child));
		pause();
	}
	CHECK(parent > 0 && read(ends[0], &child, sizeof(child)) == sizeof(child) && child > 0);
	end.fd = (int)syscall(SYS_pidfd_open, child, 0);
	CHECK(end.fd >= 0 && !kill(child, SIGSTOP) && !kill(parent, SIGKILL));
	CHECK_EQ(waitpid(parent, &status, 0), parent);
	CHECK_EQ(poll(&end, 1, 60000), 1);
}
