/* SPDX-License-Identifier: BSD-2-Clause */
/* debug_open.c: opens candidates for the separate debug file of a program. */
#include "debug_open.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../util/regular.h"

bool debug_path(const struct debug_wanted *wanted, char path[PATH_MAX])
{
	size_t at, size = wanted->id_size;

	if (size < 2 || size > sizeof(wanted->id))
		return false;
	at = (size_t)snprintf(path, PATH_MAX, DEBUG_FOLDER "/.build-id/%02x/", wanted->id[0]);
	for (size_t i = 1; i < size; i++)
		at += (size_t)snprintf(path + at, PATH_MAX - at, "%02x", wanted->id[i]);
	snprintf(path + at, PATH_MAX - at, ".debug");
	return true;
}

/* The folder of an open file; false if it has no path. */
static bool folder_of(int file, char folder[PATH_MAX])
{
	char self[32];
	ssize_t n;

	snprintf(self, sizeof(self), "/proc/self/fd/%d", file);
	n = readlink(self, folder, PATH_MAX - 1);
	if (n <= 0 || folder[0] != '/')
		return false;
	folder[n] = 0;
	*strrchr(folder, '/') = 0;
	return true;
}

static int debug_open_find(const char *path)
{
	return open(path, O_PATH | O_CLOEXEC);
}

/* The same places as in gdb. */
static int find_linked(int file, const struct debug_wanted *wanted)
{
	static const char *const formats[DEBUG_KINDS] = {
		[DEBUG_BESIDE] = "%s/%s",
		[DEBUG_BELOW] = "%s/.debug/%s",
		[DEBUG_ELSEWHERE] = DEBUG_FOLDER "%s/%s",
	};
	char folder[PATH_MAX], path[3 * PATH_MAX];

	if (strchr(wanted->name, '/') || !folder_of(file, folder))
		return -1;
	snprintf(path, sizeof(path), formats[wanted->kind], folder, wanted->name);
	return debug_open_find(path);
}

/* In the folder used by distributions, or beside the file. Names that lead anywhere else are not
 * followed. */
static int find_shared(int file, const struct debug_wanted *wanted)
{
	char folder[PATH_MAX], path[3 * PATH_MAX];
	const char *found = strstr(wanted->name, "/.dwz/");

	if (found && !strstr(found, "/../"))
		snprintf(path, sizeof(path), DEBUG_FOLDER "%s", found);
	else if (!strchr(wanted->name, '/') && folder_of(file, folder))
		snprintf(path, sizeof(path), "%s/%s", folder, wanted->name);
	else
		return -1;
	return debug_open_find(path);
}

int debug_find(int file, const struct debug_wanted *wanted)
{
	char path[PATH_MAX];

	switch (wanted->kind) {
	case DEBUG_BY_BUILD_ID:
		return debug_path(wanted, path) ? debug_open_find(path) : -1;
	case DEBUG_BESIDE:
	case DEBUG_BELOW:
	case DEBUG_ELSEWHERE:
		return wanted->name[0] ? find_linked(file, wanted) : -1;
	case DEBUG_SHARED:
		return wanted->name[0] ? find_shared(file, wanted) : -1;
	default:
		return -1;
	}
}

bool debug_is_allowed(int file, const struct debug_wanted *wanted, int handle)
{
	struct stat program, found;

	if (fstat(file, &program) || fstat(handle, &found))
		return false;
	/* In a root of its own, the folders are not those that its path names here. */
	if (wanted->kind == DEBUG_IN_ROOT)
		return found.st_uid == program.st_uid || found.st_mode & S_IROTH;
	return regular_may_name(handle, &found, program.st_uid);
}

int debug_open(int file, const struct debug_wanted *wanted)
{
	int handle = debug_find(file, wanted), fd;
	struct stat st;

	if (handle < 0)
		return -1;
	fd = debug_is_allowed(file, wanted, handle) ? regular_reopen(handle, &st) : -1;
	close(handle);
	return fd;
}
