// SPDX-License-Identifier: BSD-2-Clause
/* viewer.c: the user who gets the profile, and what that user may see of other users' processes. */
#include "viewer.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../util/proc_file.h"
#include "proc_memory.h"
#include "user_task.h"
#include "../../util/monotonic.h"

#define LIMIT_NS             UINT64_C(2000000000) /* for a command line */
#define COPY_BYTES           (64 << 10)
#define TITLE_BYTES          4096
#define STAT_FIELD_ARG_START 48
#define STAT_FIELD_ARG_END   49
#define REAP_MS              20 /* for the end of a killed process */

/* A caller that does not exist was refused before. */
static void find(struct invoker *out)
{
	const char *variable;

	(void)invoker_find(out, &variable);
}

uid_t viewer_find(void)
{
	struct invoker user;

	find(&user);
	return user.uid;
}

static int open_as_viewer(pid_t pid)
{
	struct invoker user;
	char path[32];

	find(&user);
	snprintf(path, sizeof(path), "/proc/%d/cmdline", (int)pid);
	return user_call_path(&user, &user_task_open, path);
}

bool viewer_is_shut_out(void)
{
	int fd = open_as_viewer(1);

	if (fd >= 0)
		close(fd);
	return fd < 0;
}

/* --- command lines ------------------------------------------------------------------------ */

/*
 * A command line is memory of its process, so reading it may block forever (proc_memory.h). A
 * separate process reads it, and the recorder does not wait for its end.
 */
static void fetch(uint32_t pid, char *room, size_t size)
{
	char stat[1024];
	const char *begin, *end;
	uint64_t from;

	if (proc_file_read(pid, "stat", stat, sizeof(stat)))
		return;
	begin = proc_file_stat(stat, STAT_FIELD_ARG_START);
	end = proc_file_stat(stat, STAT_FIELD_ARG_END);
	from = begin ? strtoull(begin, NULL, 10) : 0;
	/* A title written over it may be longer. */
	if (from && end && strtoull(end, NULL, 10) - from + TITLE_BYTES < size)
		size = strtoull(end, NULL, 10) - from + TITLE_BYTES;
	if (from)
		(void)proc_memory_fetch(pid, from, room, size);
}

static _Noreturn void viewer_copy(pid_t pid, int file, int out)
{
	static char text[COPY_BYTES];
	ssize_t n;

	/* Other descriptors must not stay open with a process that hangs. */
	if ((file = dup(file)) < 0 || (out = dup(out)) < 0 || dup2(file, STDIN_FILENO) < 0 ||
	    dup2(out, STDOUT_FILENO) < 0 || close_range(STDERR_FILENO, ~0u, 0))
		_exit(1);
	fetch((uint32_t)pid, text, sizeof(text));
	while ((n = read(STDIN_FILENO, text, sizeof(text))) > 0)
		if (write(STDOUT_FILENO, text, (size_t)n) != n)
			break;
	_exit(n != 0);
}

/* Up to `size` bytes that arrive in time, or -ETIME. */
static ssize_t receive(int from, char *text, size_t size)
{
	uint64_t end = monotonic_ns() + LIMIT_NS, now;
	struct pollfd wait = {.fd = from, .events = POLLIN};
	size_t used = 0;
	ssize_t n = 1;

	while (used < size && n > 0 && (now = monotonic_ns()) < end) {
		if (poll(&wait, 1, (int)((end - now) / 1000000) + 1) <= 0)
			continue;
		n = read(from, text + used, size - used);
		used += n > 0 ? (size_t)n : 0;
	}
	return used < size && n > 0 ? -ETIME : (ssize_t)used;
}

static ssize_t read_apart(pid_t pid, int file, char *text, size_t size)
{
	int ends[2], n;
	pid_t child;

	if (pipe2(ends, O_CLOEXEC))
		return -errno;
	child = fork();
	if (!child)
		viewer_copy(pid, file, ends[1]);
	n = child < 0 ? -errno : 0;
	close(ends[1]);
	if (!n)
		n = (int)receive(ends[0], text, size);
	close(ends[0]);
	if (child > 0) {
		kill(child, SIGKILL);
		/* It may hang in a part of the text that is not wanted. */
		for (int i = 0; i < REAP_MS && !waitpid(child, NULL, WNOHANG); i++)
			usleep(1000);
	}
	return n;
}

ssize_t viewer_read_command(pid_t pid, char *text, size_t size)
{
	int file = open_as_viewer(pid);
	ssize_t n = file;

	if (file >= 0) {
		n = read_apart(pid, file, text, size);
		close(file);
	}
	return n;
}
