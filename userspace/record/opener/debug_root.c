// SPDX-License-Identifier: BSD-2-Clause
/* debug_root.c: separate debug files of processes that see other files than the recorder does. */
/*
 * Only the recorder may look through /proc/PID/root, so it opens the file and hands
 * it to the process that finds names. Links in there lead nowhere outside.
 */
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "debug_root.h"

/* Has it another mount namespace, or another root in ours? */
static bool is_elsewhere(uint32_t pid, int root)
{
	char path[64], own[64] = "", other[64] = "";
	struct stat here, there;

	snprintf(path, sizeof(path), "/proc/%u/ns/mnt", pid);
	if (readlink("/proc/self/ns/mnt", own, sizeof(own) - 1) < 0 ||
	    readlink(path, other, sizeof(other) - 1) < 0)
		return false;
	if (strcmp(own, other) != 0)
		return true;
	return !stat("/", &here) && !fstat(root, &there) &&
	       (here.st_dev != there.st_dev || here.st_ino != there.st_ino);
}

int debug_root_find(uint32_t pid, const char *path)
{
	struct open_how how = {
		.flags = O_PATH | O_CLOEXEC,
		.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS,
	};
	char root[64];
	int folder, handle = -1;

	snprintf(root, sizeof(root), "/proc/%u/root", pid);
	folder = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (folder < 0)
		return -1;
	if (is_elsewhere(pid, folder))
		handle = (int)syscall(SYS_openat2, folder, path, &how, sizeof(how));
	close(folder);
	return handle;
}
