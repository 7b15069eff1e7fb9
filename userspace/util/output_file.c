/* SPDX-License-Identifier: BSD-2-Clause */
/* output_file.c: opens all files that gcprof writes. */
#include "output_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "invoker.h"

enum { TRIES = 8 };

/*
 * In a directory that others may write to, an existing file may be a trap: readable by its owner,
 * or a hard link to a file that we would destroy.
 */
static int check_existing(const struct stat *st)
{
	if (S_ISLNK(st->st_mode))
		return -ELOOP;
	if (S_ISDIR(st->st_mode))
		return -EISDIR;
	if (S_ISCHR(st->st_mode))
		return 0;
	if (!S_ISREG(st->st_mode) && !S_ISFIFO(st->st_mode))
		return -ENXIO;
	if (st->st_uid != geteuid())
		return -EEXIST;
	return S_ISREG(st->st_mode) && st->st_nlink > 1 ? -EMLINK : 0;
}

/* Checked before opening: opening a FIFO blocks, opening a device may have side effects. */
static int open_existing(const char *path)
{
	int handle = open(path, O_PATH | O_NOFOLLOW | O_CLOEXEC), fd = -1, err;
	char settled[32];
	struct stat st;

	if (handle < 0)
		return -errno;
	err = fstat(handle, &st) ? -errno : check_existing(&st);
	if (err)
		goto out;
	/* The file behind the handle can no longer be replaced. */
	snprintf(settled, sizeof(settled), "/proc/self/fd/%d", handle);
	fd = open(settled, O_WRONLY | O_CLOEXEC | O_NOCTTY);
	if (fd < 0 || (S_ISREG(st.st_mode) && ftruncate(fd, 0)))
		err = -errno;
out:
	close(handle);
	if (err && fd >= 0)
		close(fd);
	return err ? err : fd;
}

int output_file_open(const char *path)
{
	int fd = -ENOENT;

	/* Retry: somebody may delete or create the file between the two steps. */
	for (int tries = 0; tries < TRIES && fd == -ENOENT; tries++) {
		fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOCTTY, 0600);
		if (fd >= 0)
			return fd;
		if (errno != EEXIST)
			return -errno;
		fd = open_existing(path);
	}
	return fd;
}

static int open_task(const void *context, char *text, size_t size)
{
	(void)text, (void)size;
	return output_file_open(context);
}

int output_file_open_as(const struct invoker *invoker, const char *path)
{
	return invoker_call(invoker, open_task, path, NULL, 0);
}

const char *output_file_error(int err)
{
	switch (err) {
	case -EACCES:
		return "you may not write there, and gcprof writes with your rights even under "
		       "sudo; name another file with -o";
	case -EEXIST:
		return "already exists and belongs to another user; remove it, or name another "
		       "file with -o";
	case -EMLINK:
		return "has a second hard link, which would be overwritten as well; "
		       "remove it, or name another file with -o";
	case -ELOOP:
		return "is a symbolic link, and gcprof does not write through links; name the file "
		       "itself with -o";
	case -ENXIO:
		return "not a file, FIFO or character device; name another file with "
		       "-o";
	default:
		return strerror(-err);
	}
}

void output_file_remove(const char *path)
{
	struct stat st;

	if (!lstat(path, &st) && S_ISREG(st.st_mode) && st.st_uid == geteuid())
		unlink(path);
}

/* /var/tmp rather than /tmp, which may be in memory. */
int output_file_nameless(void)
{
	const char *places[] = {getenv("TMPDIR"), "/var/tmp", "/tmp"};
	int fd = -ENOENT;

	for (size_t i = 0; i < sizeof(places) / sizeof(*places) && fd < 0; i++) {
		if (!places[i] || !*places[i])
			continue;
		fd = open(places[i], O_TMPFILE | O_RDWR | O_CLOEXEC | O_EXCL, 0600);
		if (fd < 0)
			fd = -errno;
	}
	return fd;
}
