// SPDX-License-Identifier: BSD-2-Clause
/* regular.c: opens files at untrusted paths. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "regular.h"

int regular_reopen(int handle, struct stat *st)
{
	char path[32];

	if (fstat(handle, st))
		return -1;
	if (!S_ISREG(st->st_mode)) {
		errno = EINVAL;
		return -1;
	}
	/* The file is fixed: no link can replace it any more. */
	snprintf(path, sizeof(path), "/proc/self/fd/%d", handle);
	/* O_NONBLOCK: do not even wait for a lease to be released. */
	return open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
}

int regular_open(const char *path, struct stat *st)
{
	int handle = open(path, O_PATH | O_CLOEXEC), fd, err;

	if (handle < 0)
		return -1;
	fd = regular_reopen(handle, st);
	err = errno;
	close(handle);
	errno = err;
	return fd;
}

bool regular_may_name(int fd, const struct stat *st, uid_t user)
{
	char link[32], path[PATH_MAX];
	struct stat folder;
	ssize_t n;

	if (user != (uid_t)-1 && st->st_uid == user)
		return true;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = readlink(link, path, sizeof(path) - 1);
	if (n <= 0 || path[0] != '/' || !(st->st_mode & S_IROTH))
		return false;
	path[n] = '\0';
	for (char *slash = strrchr(path, '/'); slash; slash = strrchr(path, '/')) {
		*slash = '\0';
		if (stat(*path ? path : "/", &folder) || !(folder.st_mode & S_IXOTH))
			return false;
	}
	return true;
}
