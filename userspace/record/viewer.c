// SPDX-License-Identifier: BSD-2-Clause
/* viewer.c: the user who gets the profile, and what that user may see of others' processes. */
#include "viewer.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "target.h"

uid_t viewer_find(void)
{
	struct target_user user;

	target_user_find(&user);
	return user.uid;
}

/* As much of the file as there is room for; a negative errno. */
static ssize_t read_some(int fd, char *text, size_t size)
{
	size_t used = 0;

	while (used < size) {
		ssize_t n = read(fd, text + used, size - used);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : (ssize_t)used;
		used += (size_t)n;
	}
	return (ssize_t)used;
}

static ssize_t read_command(pid_t pid, char *text, size_t size)
{
	char path[32];
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/cmdline", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	n = read_some(fd, text, size);
	close(fd);
	return n;
}

/* In a child that has become the user: its exit status is the errno, or 0. */
_Noreturn static void hand_over(const struct target_user *user, pid_t pid, int to, char *text,
				size_t size)
{
	ssize_t n = target_user_become(user);

	if (!n)
		n = read_command(pid, text, size);
	if (n > 0 && write(to, text, (size_t)n) != n)
		n = -EIO;
	_exit(n < 0 ? (int)-n : 0);
}

static ssize_t read_as(const struct target_user *user, pid_t pid, char *text, size_t size)
{
	int ends[2], status = 0;
	ssize_t n;
	pid_t child;

	if (pipe2(ends, O_CLOEXEC))
		return -errno;
	child = fork();
	if (child == 0)
		hand_over(user, pid, ends[1], text, size);
	close(ends[1]);
	n = child < 0 ? -EAGAIN : read_some(ends[0], text, size);
	close(ends[0]);
	while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	if (n >= 0 && status)
		n = WIFEXITED(status) ? -WEXITSTATUS(status) : -EIO;
	return n;
}

ssize_t viewer_read_command(pid_t pid, char *text, size_t size)
{
	struct target_user user;

	target_user_find(&user);
	return user.change ? read_as(&user, pid, text, size) : read_command(pid, text, size);
}

bool viewer_is_shut_out(void)
{
	char first;

	return viewer_read_command(1, &first, 1) < 0;
}
