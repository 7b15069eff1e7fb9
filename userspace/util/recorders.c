/* SPDX-License-Identifier: BSD-2-Clause */
/* recorders.c: announces a recorder to other processes, and finds the recorders of a user. */
/*
 * The kernel tells who holds a lock on which bytes. A recorder locks one byte, or two with --keep,
 * at a place that says who invoked it; its process number makes the place its own.
 */
#include "recorders.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
	PLACE_BITS = 23, /* a process number has at most 22 */
	CALLS_MAX = 1024,
};

#define END INT64_MAX

/* /run is root's, and /run/user/UID that user's. In /tmp another user may be first to make the
 * file, which open_file() refuses. */
static void find_path(uid_t user, char path[PATH_MAX])
{
	snprintf(path, PATH_MAX, "/run/user/%u", (unsigned)user);
	if (!user)
		snprintf(path, PATH_MAX, "/run/gcprof.lock");
	else if (!access(path, F_OK))
		snprintf(path, PATH_MAX, "/run/user/%u/gcprof.lock", (unsigned)user);
	else
		snprintf(path, PATH_MAX, "/tmp/gcprof-%u.lock", (unsigned)user);
}

static int open_file(uid_t user, int flags)
{
	char path[PATH_MAX];
	struct stat status;
	int fd;

	find_path(user, path);
	fd = open(path, flags | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	if (!fstat(fd, &status) && S_ISREG(status.st_mode) && status.st_uid == user &&
	    !(status.st_mode & 077))
		return fd;
	close(fd);
	return -EPERM;
}

int recorder_announce(uid_t invoker, bool keeps)
{
	const struct flock lock = {
		.l_type = F_WRLCK,
		.l_whence = SEEK_SET,
		.l_start = (int64_t)invoker << PLACE_BITS | (int64_t)getpid() << 1,
		.l_len = keeps ? 2 : 1,
	};
	/* Closing any descriptor of the file would end the lock. */
	int fd = open_file(geteuid(), O_RDWR | O_CREAT);

	if (fd < 0)
		return fd;
	return fcntl(fd, F_SETLK, &lock) ? -errno : 0;
}

struct search {
	struct recorder *at, *end;
	int fd;
	unsigned calls; /* a user can hold any number of locks in the user's own file */
};

/* The kernel names any lock between the two places: then those before and after it are found. */
static void find_between(struct search *search, int64_t from, int64_t to)
{
	struct flock lock = {.l_type = F_WRLCK,
			     .l_whence = SEEK_SET,
			     .l_start = from,
			     .l_len = to == END ? 0 : to - from};

	if (from >= to || search->at == search->end || ++search->calls > CALLS_MAX ||
	    fcntl(search->fd, F_GETLK, &lock) || lock.l_type == F_UNLCK)
		return;
	/* Those of other pid namespaces have no number here. */
	if (lock.l_pid > 0)
		*search->at++ = (struct recorder){.pid = lock.l_pid,
						  .invoker = (uid_t)(lock.l_start >> PLACE_BITS),
						  .keeps = lock.l_len == 2};
	find_between(search, from, lock.l_start);
	if (lock.l_len)
		find_between(search, lock.l_start + lock.l_len, to);
}

size_t recorders_find(uid_t user, struct recorder *out, size_t max)
{
	struct search search = {.at = out, .end = out + max, .fd = open_file(user, O_RDONLY)};

	if (search.fd < 0)
		return 0;
	find_between(&search, 0, END);
	close(search.fd);
	return (size_t)(search.at - out);
}
