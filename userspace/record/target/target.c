/* SPDX-License-Identifier: BSD-2-Clause */
/* target.c: the recorded program: found, started, released, waited for. */
#include "target.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "agents.h"
#include "../../util/monotonic.h"
#include "../../util/priority.h"

#define EXEC_NS UINT64_C(30000000000) /* to wait for the child's exec */

enum { OWN_MAX = 4096 }; /* the recorder's descriptors while it starts a program */

struct target {
	pid_t pid;
	int pidfd;
	int release; /* a byte releases the child, closing makes it give up */
	int failure; /* the child's errno if exec failed, EOF if it succeeded */
	bool waited;
	int status;
};

/* --- the command ------------------------------------------------------------- */

/* 0 if `path` is an executable file. */
static int check_executable(const char *path)
{
	struct stat status;

	if (stat(path, &status))
		return -errno;
	if (S_ISDIR(status.st_mode))
		return -EISDIR;
	return S_ISREG(status.st_mode) && !access(path, X_OK) ? 0 : -EACCES;
}

static int resolve_failed(const char *command, int error, struct problem *problem)
{
	if (error == -ENOENT || error == -ENOTDIR)
		return problem_set(problem, -ENOENT, "%s: command not found", command);
	if (error == -EISDIR)
		return problem_set(problem, error, "%s: is a directory", command);
	if (error == -EACCES)
		return problem_set(problem, error, "%s: not executable", command);
	return problem_set(problem, error, "%s: %s", command, strerror(-error));
}

/* Searches the parts of PATH; an empty one is the current directory. */
static int search_path(const char *command, const char *part, char *found, size_t size)
{
	int result = -ENOENT;

	for (;;) {
		int length = (int)strcspn(part, ":");
		int n = snprintf(found, size, "%.*s/%s", length ? length : 1, length ? part : ".",
				 command);

		if (n > 0 && (size_t)n < size) {
			int err = check_executable(found);
			if (!err)
				return 0;
			if (err == -EACCES)
				result = err;
		}
		if (!part[length])
			return result;
		part += length + 1;
	}
}

/* With the rights of the user, so that nothing is revealed about files that the user cannot see. */
static int find_command(const struct user_input *input, char *found, size_t size)
{
	const char *command = input->data, *path = command + strlen(command) + 1;
	int err = -ENAMETOOLONG, fd;

	if (!strchr(command, '/'))
		err = search_path(command, path, found, size);
	else if ((size_t)snprintf(found, size, "%s", command) < size)
		err = check_executable(found);
	if (err)
		return err;
	fd = open(found, O_PATH | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

const struct user_task target_resolve_task = {"resolve", find_command};

int target_resolve(const struct invoker *user, const char *command, char **path,
		   struct problem *problem)
{
	const char *places = getenv("PATH");
	struct user_input input = {.fd = -1};
	char found[PATH_MAX], *words;
	int size, fd;

	*path = NULL;
	if (!*command)
		return resolve_failed("''", -ENOENT, problem);
	size = asprintf(&words, "%s%c%s", command, '\0',
			places ? places : "/usr/local/bin:/usr/bin:/bin");
	if (size < 0)
		return problem_set(problem, -ENOMEM, "out of memory");
	input.data = words;
	input.size = (size_t)size + 1;
	fd = user_call(user, &target_resolve_task, &input, found, sizeof(found));
	free(words);
	if (fd < 0)
		return resolve_failed(command, fd, problem);
	close(fd);
	*path = strdup(found);
	return *path ? 0 : problem_set(problem, -ENOMEM, "out of memory");
}

/* --- the child --------------------------------------------------------------- */

static int set_number(const char *name, uint64_t value)
{
	char text[32];

	snprintf(text, sizeof(text), "%" PRIu64, value);
	return setenv(name, text, 1) ? -errno : 0;
}

int target_add_variable(const struct added_variable *added)
{
	const char *others = getenv(added->name), *text = added->text;
	bool alone = !others || !*others;
	char *joined = NULL;
	int err;

	if (!alone && asprintf(&joined, "%s%s%s", added->is_first ? text : others, added->separator,
			       added->is_first ? others : text) < 0)
		return -ENOMEM;
	err = setenv(added->name, alone ? text : joined, 1) ? -errno : 0;
	free(joined);
	return err;
}

/* Adds what makes programs load an agent. The address sanitizer ends programs in which it is not
 * the first library, unless this is allowed; with an agent before it, it still has all calls. */
static int add_agent(const struct added_variable *added)
{
	const struct added_variable allowed = {
		.name = "ASAN_OPTIONS", .separator = ":", .text = "verify_asan_link_order=0"};
	int err = target_add_variable(added);

	return err || strcmp(added->name, "LD_PRELOAD") ? err : target_add_variable(&allowed);
}

static int child_prepare(const struct target_setup *setup)
{
	/* A recorder that already is that user keeps its capabilities, as without gcprof. */
	int err = setup->user->change ? invoker_become(setup->user) : 0;

	if (!err && setup->output_taken && dup2(STDERR_FILENO, STDOUT_FILENO) < 0)
		err = -errno;
	if (!err && setup->period)
		err = set_number("GCPROF_PERIOD", setup->period);
	if (!err && setup->ceiling != UINT64_MAX)
		err = set_number("GCPROF_CEILING", setup->ceiling);
	/* Its libraries report from their first instruction on. */
	if (!err)
		err = set_number("GCPROF_RECORD", 1);
	if (!err && setup->added)
		err = add_agent(setup->added);
	if (!err && setup->each_collection)
		err = set_number("GCPROF_GC_CEILING", 0);
	return err;
}

/* From the change of user to the exec, others can stop the child: it keeps only what the program
 * inherits, and its pipes. */
static void close_own(int release, int failure)
{
	for (int fd = STDERR_FILENO + 1; fd < OWN_MAX; fd++)
		if (fd != release && fd != failure && fcntl(fd, F_GETFD) == FD_CLOEXEC)
			close(fd);
}

/* Waits for the release, then executes the program. */
static _Noreturn void child_run(const struct target_setup *setup, int release, int failure)
{
	ssize_t n;
	char go;
	int err;

	priority_restore();
	close_own(release, failure);
	do
		n = read(release, &go, 1);
	while (n < 0 && errno == EINTR);
	if (n != 1)
		_exit(0);
	err = child_prepare(setup);
	if (!err) {
		execv(setup->path, setup->arguments);
		err = -errno;
	}
	do
		n = write(failure, &err, sizeof(err));
	while (n < 0 && errno == EINTR);
	_exit(127);
}

static void close_pair(int pair[2])
{
	if (pair[0] >= 0)
		close(pair[0]);
	if (pair[1] >= 0)
		close(pair[1]);
	pair[0] = pair[1] = -1;
}

int target_start(const struct target_setup *setup, struct target **out, struct problem *problem)
{
	int release[2] = {-1, -1}, failure[2] = {-1, -1};
	struct target *target = calloc(1, sizeof(*target));
	int err = -ENOMEM;

	if (!target)
		goto out;
	target->pidfd = -1;
	if (pipe2(release, O_CLOEXEC) || pipe2(failure, O_CLOEXEC)) {
		err = -errno;
		goto out;
	}
	target->pid = fork();
	if (target->pid < 0) {
		err = -errno;
		goto out;
	}
	if (target->pid == 0) {
		close(release[1]);
		close(failure[0]);
		child_run(setup, release[0], failure[1]);
	}
	target->release = release[1];
	target->failure = failure[0];
	release[1] = failure[0] = -1;
	target->pidfd = (int)syscall(SYS_pidfd_open, target->pid, 0);
	err = target->pidfd < 0 ? -errno : 0;
	if (err) {
		target_free(target);
		target = NULL;
	}
out:
	close_pair(release);
	close_pair(failure);
	if (err) {
		free(target);
		return problem_set(problem, err, "cannot start the program: %s", strerror(-err));
	}
	*out = target;
	return 0;
}

pid_t target_pid(const struct target *target)
{
	return target->pid;
}

int target_pidfd(const struct target *target)
{
	return target->pidfd;
}

/* Waits for the exec, but not for ever: once it is the user's, other processes can stop the child.
 * Passes on other signals that would stop it. False: it ended or has not executed yet. */
static bool wait_for_exec(struct target *target)
{
	const struct timespec moment = {.tv_nsec = 100000};
	uint64_t end = monotonic_ns() + EXEC_NS;
	int status, signal;

	while (monotonic_ns() < end) {
		pid_t pid = waitpid(target->pid, &status, __WALL | WNOHANG);

		if (!pid)
			nanosleep(&moment, NULL);
		if (!pid || (pid < 0 && errno == EINTR))
			continue;
		if (pid < 0)
			return false;
		if (!WIFSTOPPED(status)) {
			target->waited = true;
			target->status = status;
			return false;
		}
		if (status >> 8 == (SIGTRAP | PTRACE_EVENT_EXEC << 8))
			return true;
		signal = status >> 16 ? 0 : WSTOPSIG(status);
		ptrace(PTRACE_CONT, target->pid, NULL, (void *)(intptr_t)signal);
	}
	return false;
}

static void stop_at_exec(struct target *target, target_stopped *stopped, void *context)
{
	if (!wait_for_exec(target))
		return;
	stopped(context);
	ptrace(PTRACE_DETACH, target->pid, NULL, NULL);
}

/* The errno of the child's exec. */
static int exec_failure(const struct target *target)
{
	struct pollfd wait = {.fd = target->failure, .events = POLLIN};
	int err = 0, ready;
	ssize_t n;

	do
		ready = poll(&wait, 1, (int)(EXEC_NS / 1000000));
	while (ready < 0 && errno == EINTR);
	if (ready <= 0) {
		kill(target->pid, SIGKILL);
		return -ETIMEDOUT;
	}
	n = read(target->failure, &err, sizeof(err));
	if (n == 0)
		return 0;
	return n == (ssize_t)sizeof(err) && err < 0 ? err : -EIO;
}

int target_release(struct target *target, target_stopped *stopped, void *context,
		   struct problem *problem)
{
	bool traced = stopped && !ptrace(PTRACE_SEIZE, target->pid, NULL,
					 (void *)(intptr_t)PTRACE_O_TRACEEXEC);
	ssize_t n;
	int err;

	do
		n = write(target->release, "", 1);
	while (n < 0 && errno == EINTR);
	if (n != 1)
		return problem_set(problem, -ECHILD, "the program was killed before it began");
	if (traced)
		stop_at_exec(target, stopped, context);
	err = exec_failure(target);
	if (!err)
		return 0;
	if (err == -ENOEXEC)
		return problem_set(
			problem, err,
			"not a program: neither an executable file nor a script with #!");
	return problem_set(problem, err, "cannot execute the program: %s", strerror(-err));
}

int target_wait(struct target *target, bool block, int *status)
{
	pid_t pid;

	if (!target->waited) {
		do
			pid = waitpid(target->pid, &target->status, block ? 0 : WNOHANG);
		while (pid < 0 && errno == EINTR);
		if (pid == 0)
			return -EAGAIN;
		if (pid < 0)
			return -errno;
		target->waited = true;
	}
	*status = target->status;
	return 0;
}

void target_free(struct target *target)
{
	if (!target)
		return;
	close(target->release);
	close(target->failure);
	if (target->pidfd >= 0)
		close(target->pidfd);
	free(target);
}
