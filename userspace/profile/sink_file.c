// SPDX-License-Identifier: BSD-2-Clause
/* sink_file.c: writes a profile to a file or a descriptor. */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sink.h"

struct sink_file {
	struct sink sink;
	int fd;
	bool owned; /* close it */
};

static int file_write(struct sink *sink, const void *data, size_t size)
{
	struct sink_file *file = (struct sink_file *)sink;
	const char *at = data;

	while (size) {
		ssize_t n = write(file->fd, at, size);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		at += n;
		size -= (size_t)n;
	}
	return 0;
}

static int file_close(struct sink *sink)
{
	struct sink_file *file = (struct sink_file *)sink;
	int err = 0;

	/* EINTR: the descriptor is gone all the same, and nothing can be done again. */
	if (file->owned && close(file->fd) && errno != EINTR)
		err = -errno;
	free(file);
	return err;
}

static int make(int fd, bool owned, struct sink **out)
{
	struct sink_file *file = malloc(sizeof(*file));

	if (!file)
		return -ENOMEM;
	*file = (struct sink_file){{file_write, file_close}, fd, owned};
	*out = &file->sink;
	return 0;
}

int sink_fd_create(int fd, struct sink **out)
{
	return make(fd, false, out);
}

/* Opens without following a link at the end of the path; *is_new tells whether it made the file. */
static int open_output(const char *path, bool *is_new)
{
	const int flags = O_WRONLY | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY;
	int fd;

	/* Somebody may delete or make the file between the two: then once more. */
	for (int tries = 0; tries < 8; tries++) {
		*is_new = true;
		fd = open(path, flags | O_CREAT | O_EXCL, 0600);
		if (fd >= 0 || errno != EEXIST)
			break;
		*is_new = false;
		fd = open(path, flags);
		if (fd >= 0 || errno != ENOENT)
			break;
	}
	return fd >= 0 ? fd : -errno;
}

/*
 * Root writes here for somebody else, into a directory where that user may have
 * prepared something: a file that is not the user's is left alone.
 */
static int prepare(int fd, bool is_new, uid_t uid, gid_t gid)
{
	struct stat st;

	if (fstat(fd, &st))
		return -errno;
	if (S_ISFIFO(st.st_mode) || S_ISCHR(st.st_mode))
		return 0;
	if (!S_ISREG(st.st_mode))
		return S_ISDIR(st.st_mode) ? -EISDIR : -EINVAL;
	if (is_new)
		return fchown(fd, uid, gid) ? -errno : 0;
	if (uid != (uid_t)-1 && uid != 0 && st.st_uid != uid)
		return -EPERM;
	return ftruncate(fd, 0) ? -errno : 0;
}

int sink_file_create(const char *path, uid_t uid, gid_t gid, struct sink **out)
{
	bool is_new;
	int fd = open_output(path, &is_new);
	int err;

	if (fd < 0)
		return fd;
	err = prepare(fd, is_new, uid, gid);
	if (!err)
		err = make(fd, true, out);
	if (err)
		close(fd);
	return err;
}
