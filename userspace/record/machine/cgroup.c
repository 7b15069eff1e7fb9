// SPDX-License-Identifier: BSD-2-Clause
/* cgroup.c: finds a cgroup (version 2) by the path that a user gave. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <mntent.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "cgroup.h"

bool cgroup_mount(char *out, size_t size)
{
	FILE *mounts = setmntent("/proc/self/mounts", "re");
	const struct mntent *entry;
	bool found = false;

	while (mounts && !found && (entry = getmntent(mounts))) {
		if (strcmp(entry->mnt_type, "cgroup2") != 0)
			continue;
		found = (size_t)snprintf(out, size, "%s", entry->mnt_dir) < size;
	}
	if (mounts)
		endmntent(mounts);
	return found;
}

/* Tries the path itself, then as one below the mount point. */
static int find_folder(const char *path, char *out, size_t size)
{
	char mount[PATH_MAX];
	struct stat status;
	int n;

	if ((size_t)snprintf(out, size, "%s", path) < size && !stat(out, &status))
		return 0;
	if (!cgroup_mount(mount, sizeof(mount)))
		return -ENOENT;
	n = snprintf(out, size, "%s/%s", mount, path);
	return n > 0 && (size_t)n < size && !stat(out, &status) ? 0 : -ENOENT;
}

static int open_folder(const struct user_input *path, char *text, size_t size)
{
	char folder[2 * PATH_MAX];
	int fd;

	(void)text, (void)size;
	if (find_folder(path->data, folder, sizeof(folder)))
		return -ENOENT;
	fd = open(folder, O_PATH | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

const struct user_task cgroup_task = {"cgroup", open_folder};

int cgroup_open(const struct invoker *user, const char *path, uint64_t *id, struct problem *problem)
{
	int fd = user_call_path(user, &cgroup_task, path), err;
	struct statfs system;
	struct stat status;

	if (fd == -ENOENT)
		return problem_set(problem, fd, "--cgroup %s: there is no such cgroup", path);
	if (fd < 0 || fstat(fd, &status) || fstatfs(fd, &system)) {
		err = fd < 0 ? fd : -errno;
		problem_set(problem, err, "--cgroup %s: %s", path, strerror(-err));
		goto out;
	}
	*id = status.st_ino;
	if (S_ISDIR(status.st_mode) && (uint32_t)system.f_type == CGROUP2_SUPER_MAGIC)
		return fd;
	err = problem_set(problem, -EINVAL,
			  "--cgroup %s: not a folder of the cgroup hierarchy, version 2 (mounted "
			  "below /sys/fs/cgroup)",
			  path);
out:
	if (fd >= 0)
		close(fd);
	return err;
}

bool cgroup_is_gone(int fd)
{
	return faccessat(fd, "cgroup.procs", F_OK, 0) && (errno == ENOENT || errno == ENODEV);
}
