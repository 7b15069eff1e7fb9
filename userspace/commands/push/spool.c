/* SPDX-License-Identifier: BSD-2-Clause */
/* spool.c: gcprof push --spool: keeps profiles until the server has them. */
#include "push.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../../fleet/push.h"
#include "../../util/log.h"

enum { COPY_BYTES = 16 << 20 };

#define SUFFIX ".data"

static int cmd_push_spool_complain(const char *path, const char *what)
{
	log_error("%s: %s%s", path, what, strerror(errno));
	return EXIT_FAILURE;
}

/* 0 or -1 with errno. */
static int cmd_push_spool_copy(int from, int to)
{
	char block[1 << 16];
	ssize_t n;

	/* Shares extents if the file system can. */
	do
		n = copy_file_range(from, NULL, to, NULL, COPY_BYTES, 0);
	while (n > 0);
	if (!n)
		return fsync(to);
	if (errno != EXDEV && errno != EINVAL && errno != EOPNOTSUPP && errno != ENOSYS)
		return -1;
	while ((n = read(from, block, sizeof(block))) > 0)
		for (ssize_t done = 0; done < n;) {
			ssize_t written = write(to, block + done, (size_t)(n - done));

			if (written < 0)
				return -1;
			done += written;
		}
	return n ? -1 : fsync(to);
}

/* Names the copy after the profile's identity, so each profile is spooled once. The copy gets this
 * name only when it is complete. */
static int add_file(int folder, const char *spool, const char *file)
{
	int from = open(file, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK), to = -1;
	char name[64], part[80];
	int status = 0, err;
	uint64_t identity;

	if (from < 0)
		return cmd_push_spool_complain(file, "");
	err = push_identify(from, &identity);
	errno = -err;
	snprintf(name, sizeof(name), "%016" PRIx64 SUFFIX, identity);
	snprintf(part, sizeof(part), ".%s.%d", name, (int)getpid());
	if (!err)
		to = openat(folder, part, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (to < 0 || cmd_push_spool_copy(from, to) || renameat(folder, part, folder, name)) {
		status = cmd_push_spool_complain(spool, "cannot store the profile there: ");
		(void)unlinkat(folder, part, 0);
	}
	if (to >= 0)
		close(to);
	close(from);
	return status;
}

/* Who may write there could have everything pushed and removed that we may read and remove. */
static bool is_own(int folder)
{
	struct stat st;

	return !fstat(folder, &st) && st.st_uid == geteuid() && !(st.st_mode & (S_IWGRP | S_IWOTH));
}

int spool_add(const char *spool, const char *const *files, int n_files)
{
	int folder, status = 0;

	if (mkdir(spool, 0700) && errno != EEXIST)
		return cmd_push_spool_complain(spool, "");
	folder = open(spool, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (folder < 0)
		return cmd_push_spool_complain(spool, "");
	if (!is_own(folder)) {
		close(folder);
		log_error("%s: other users may write there: use chmod go-w, or a directory of your "
			  "own",
			  spool);
		return EXIT_FAILURE;
	}
	for (int i = 0; i < n_files; i++)
		status |= add_file(folder, spool, files[i]);
	close(folder);
	return status;
}

static int is_profile(const struct dirent *entry)
{
	size_t size = strlen(entry->d_name);

	return entry->d_name[0] != '.' && size > strlen(SUFFIX) &&
	       strcmp(entry->d_name + size - strlen(SUFFIX), SUFFIX) == 0;
}

struct entry {
	char *path;
	struct timespec changed;
};

static int by_age(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;

	if (x->changed.tv_sec != y->changed.tv_sec)
		return x->changed.tv_sec < y->changed.tv_sec ? -1 : 1;
	return (x->changed.tv_nsec > y->changed.tv_nsec) -
	       (x->changed.tv_nsec < y->changed.tv_nsec);
}

/* Lists the files that still exist: another push may have removed some. Returns their number. */
static size_t look_up(const char *spool, struct dirent **names, size_t n, struct entry *out)
{
	size_t count = 0;
	struct stat st;

	for (size_t i = 0; i < n; i++) {
		struct entry entry = {NULL, {0, 0}};

		if (asprintf(&entry.path, "%s/%s", spool, names[i]->d_name) < 0)
			entry.path = NULL;
		if (!entry.path || lstat(entry.path, &st) || !S_ISREG(st.st_mode)) {
			free(entry.path);
			continue;
		}
		entry.changed = st.st_mtim;
		out[count++] = entry;
	}
	return count;
}

int spool_push(const char *spool, spool_pusher *push, struct http *http,
	       const struct fleet_given *given)
{
	struct dirent **names = NULL;
	int n = scandir(spool, &names, is_profile, NULL), status = 0;
	struct entry *entries = calloc((size_t)(n > 0 ? n : 0) + 1, sizeof(*entries));
	size_t count = n > 0 && entries ? look_up(spool, names, (size_t)n, entries) : 0;

	if (n < 0 || !entries)
		status = cmd_push_spool_complain(spool, "");
	if (count)
		qsort(entries, count, sizeof(*entries), by_age);
	for (size_t i = 0; i < count; i++) {
		int failed = push(http, entries[i].path, given);

		if (!failed && unlink(entries[i].path) && errno != ENOENT)
			failed = cmd_push_spool_complain(entries[i].path, "");
		status |= failed;
		free(entries[i].path);
	}
	for (int i = 0; i < n; i++)
		free(names[i]);
	free(names);
	free(entries);
	return status;
}
