/* SPDX-License-Identifier: BSD-2-Clause */
/* output_file.c: writes files that appear, or replace earlier ones, only when they are complete. */
#include "output_file.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "path_base.h"

enum { HEAD = 32 << 10 };

/*
 * In a directory that others may write to, an existing file may be a trap: readable by its owner,
 * or another name of a file that counts.
 */
static int check_kind(const struct stat *st)
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

/* Folded stacks: lines with semicolons that end with numbers. The last one may be cut off. */
static bool has_stacks(const char *text, size_t size)
{
	const char *end = memrchr(text, '\n', size), *at = text;

	while (end && at <= end) {
		const char *line = memchr(at, '\n', (size_t)(end - at) + 1), *digit = line;

		while (digit > at && isdigit((unsigned char)digit[-1]))
			digit--;
		if (digit == line || digit == at || digit[-1] != ' ')
			return false;
		at = line + 1;
	}
	return memchr(text, ';', size) && !memchr(text, '\0', size);
}

static bool has_mark(const struct output_mark *mark, int fd)
{
	char head[HEAD];
	ssize_t n = pread(fd, head, sizeof(head), 0);
	size_t size = n > 0 ? (size_t)n : 0, length = mark->text ? strlen(mark->text) : 0;

	if (!mark->text)
		return has_stacks(head, size);
	if (mark->at < 0)
		return memmem(head, size, mark->text, length);
	return size >= (size_t)mark->at + length && !memcmp(head + mark->at, mark->text, length);
}

/*
 * Checks before opening, because opening a FIFO blocks and opening a device may have side effects.
 * -ENOENT: there is no such file. With *direct, the file is opened for writing in place.
 */
static int check_existing(const char *path, const struct output_mark *mark, struct stat *st,
			  int *direct)
{
	int handle = open(path, O_PATH | O_NOFOLLOW | O_CLOEXEC), fd = -1, err;
	char settled[32];

	if (handle < 0)
		return -errno;
	err = fstat(handle, st) ? -errno : check_kind(st);
	/* The file behind the handle can no longer be replaced. */
	snprintf(settled, sizeof(settled), "/proc/self/fd/%d", handle);
	if (!err && !S_ISREG(st->st_mode)) {
		*direct = open(settled, O_WRONLY | O_CLOEXEC | O_NOCTTY);
		err = *direct < 0 ? -errno : 0;
	} else if (!err && st->st_size && mark) {
		fd = open(settled, O_RDONLY | O_CLOEXEC);
		err = fd < 0 || !has_mark(mark, fd) ? -ENOTUNIQ : 0;
	}
	if (fd >= 0)
		close(fd);
	close(handle);
	return err;
}

/* --- paths ----------------------------------------------------------------------------------- */

/* The path of another name in the same folder. */
static int beside(const char *path, const char *name, char out[PATH_MAX])
{
	int n = snprintf(out, PATH_MAX, "%.*s%s", (int)(path_base(path) - path), path, name);

	return n < PATH_MAX ? 0 : -ENAMETOOLONG;
}

static int old_path(const char *path, char out[PATH_MAX])
{
	int n = snprintf(out, PATH_MAX, "%s" OUTPUT_OLD, path);

	return n < PATH_MAX ? 0 : -ENAMETOOLONG;
}

/* The folder of the file must still be the one in which it was opened. */
static int check_folder(struct output_file *file, bool opened)
{
	char folder[PATH_MAX];
	struct stat st;
	int err = beside(file->path, ".", folder);

	if (!err && stat(folder, &st))
		err = -errno;
	if (err)
		return err;
	if (opened && (st.st_dev != file->device || st.st_ino != file->inode))
		return -ESTALE;
	file->device = st.st_dev;
	file->inode = st.st_ino;
	return 0;
}

static void make_name(struct output_file *file)
{
	uint32_t random[2] = {(uint32_t)getpid(), (uint32_t)time(NULL)};

	(void)!getrandom(random, sizeof(random), GRND_NONBLOCK);
	snprintf(file->temporary, sizeof(file->temporary), ".gcprof-%08" PRIx32 "%08" PRIx32,
		 random[0], random[1]);
}

/* --- opening --------------------------------------------------------------------------------- */

bool output_file_is_stdout(const char *path)
{
	return !strcmp(path, "-") || !strcmp(path, "/dev/stdout");
}

/* A file without a name leaves nothing if we die; not all file systems have them. */
static int output_file_create(struct output_file *file, mode_t mode)
{
	char path[PATH_MAX];
	int err = beside(file->path, ".", path);
	int fd = err ? err : open(path, O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);

	if (!err && fd < 0 && (errno == EOPNOTSUPP || errno == EISDIR || errno == EINVAL)) {
		make_name(file);
		err = beside(file->path, file->temporary, path);
		fd = err ? err : open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	}
	if (!err && fd < 0)
		err = -errno;
	/* Readers of the earlier file may read this one. */
	if (!err && mode && fchmod(fd, mode & 0777))
		err = -errno;
	if (err && fd >= 0)
		close(fd);
	return err ? err : fd;
}

/* With `keep`: may what has the name for the earlier file be replaced? */
static int check_old(const struct output_file *file)
{
	char path[PATH_MAX];
	struct stat st;
	int err = old_path(file->path, path), direct = -1;

	err = err ? err : check_existing(path, file->mark, &st, &direct);
	if (direct >= 0)
		close(direct);
	return err == -ENOENT ? 0 : err ? -ENOTEMPTY : direct >= 0 ? -ENOTEMPTY : 0;
}

static int open_file(struct output_file *file)
{
	int direct = -1, err, fd;
	struct stat st = {0};

	if (output_file_is_stdout(file->path)) {
		direct = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
		err = direct < 0 ? -errno : 0;
	} else {
		err = check_existing(file->path, file->mark, &st, &direct);
	}
	file->direct = direct >= 0;
	if (direct >= 0 || (err && err != -ENOENT))
		return err ? err : direct;
	err = check_folder(file, false);
	if (!err && file->keep)
		err = check_old(file);
	fd = err ? err : output_file_create(file, st.st_mode);
	return fd;
}

int output_file_open(struct output_file *file)
{
	int fd = open_file(file);

	file->fd = fd;
	if (fd >= 0 && fd <= STDERR_FILENO) {
		file->fd = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
		close(fd);
	}
	return file->fd < 0 ? fd < 0 ? fd : -EMFILE : 0;
}

/* --- publishing ------------------------------------------------------------------------------ */

/* Some file systems report only at closing that data could not be written. */
static int flush(const struct output_file *file)
{
	int copy = dup(file->fd);

	return copy < 0 || close(copy) ? -errno : 0;
}

/* Gives the file the name `path`, which nothing has, or which is replaced. */
static int name(struct output_file *file)
{
	char settled[32], temporary[PATH_MAX];
	int err;

	snprintf(settled, sizeof(settled), "/proc/self/fd/%d", file->fd);
	if (!file->temporary[0]) {
		if (!linkat(AT_FDCWD, settled, AT_FDCWD, file->path, AT_SYMLINK_FOLLOW))
			return 0;
		if (errno != EEXIST)
			return -errno;
		make_name(file);
		err = beside(file->path, file->temporary, temporary);
		if (!err && linkat(AT_FDCWD, settled, AT_FDCWD, temporary, AT_SYMLINK_FOLLOW))
			err = -errno;
	} else {
		err = beside(file->path, file->temporary, temporary);
	}
	if (!err && rename(temporary, file->path))
		err = -errno;
	if (!err)
		file->temporary[0] = '\0';
	return err;
}

int output_file_publish(struct output_file *file)
{
	char old[PATH_MAX];
	struct stat st = {0};
	int err = file->direct ? 0 : flush(file), direct = -1;
	bool kept = false;

	if (file->direct)
		return 0;
	err = err ? err : check_folder(file, true);
	/* Another process may have written it meanwhile. */
	err = err ? err : check_existing(file->path, file->mark, &st, &direct);
	if (direct >= 0) {
		close(direct);
		return -EEXIST;
	}
	if (!err && file->keep && st.st_size) {
		err = old_path(file->path, old);
		if (!err && rename(file->path, old))
			err = -errno;
		kept = !err;
	}
	if (!err || err == -ENOENT)
		err = name(file);
	if (err && kept)
		(void)rename(old, file->path);
	return err;
}

void output_file_remove_temporary(const struct output_file *file)
{
	char path[PATH_MAX];

	if (file->temporary[0] && !beside(file->path, file->temporary, path))
		unlink(path);
}

void output_file_close(struct output_file *file)
{
	if (file->fd > STDERR_FILENO) {
		output_file_remove_temporary(file);
		close(file->fd);
	}
	file->fd = -1;
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
		return "has a second hard link, perhaps somebody else's; remove it, or name "
		       "another file with -o";
	case -ENOTUNIQ:
		return "already exists, and gcprof did not write it in this format; remove it, or "
		       "name another file with -o";
	case -ENOTEMPTY:
		return "already exists and would be kept as a file with " OUTPUT_OLD
		       " after its name, but another file has that name; remove one of them";
	case -ESTALE:
		return "its folder was replaced while gcprof wrote";
	case -ELOOP:
		return "is a symbolic link, and gcprof does not write through links; name the file "
		       "itself with -o";
	case -ENXIO:
		return "not a file, FIFO or character device; name another file with "
		       "-o";
	case -ETIMEDOUT:
		return "could not be opened within 10 s; name another file with -o";
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
