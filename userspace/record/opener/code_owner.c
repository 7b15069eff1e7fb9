// SPDX-License-Identifier: BSD-2-Clause
/* code_owner.c: a process that generates code, and the file in which it may describe it. */
/*
 * Any user can put a file with such a name into /tmp. Only a regular file is trusted that has no
 * other names, was reached without links, is owned by the process's user, and is not older than the
 * process.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "code_owner.h"
#include "../../util/proc_file.h"
#include "../../util/path_base.h"

#define SLACK_S          2 /* start times are in ticks, and clocks get set */
#define STAT_FIELD_START 22

static int read_status(uint32_t pid, struct code_owner *owner)
{
	char text[8192];
	const char *line;
	unsigned effective;
	int err = proc_file_read(pid, "status", text, sizeof(text));

	if (err)
		return err;
	line = strstr(text, "\nUid:");
	if (!line || sscanf(line, "\nUid: %*u %u", &effective) != 1)
		return -EBADMSG;
	owner->user = effective;
	owner->number = pid;
	line = strstr(text, "\nNSpid:");
	if (line) {
		const char *end = strchrnul(line + 1, '\n');

		/* One pid per namespace, the innermost last. */
		while (end[-1] >= '0' && end[-1] <= '9')
			end--;
		owner->number = (uint32_t)strtoul(end, NULL, 10);
	}
	return owner->number ? 0 : -EBADMSG;
}

/* Its start, s since 1970. */
static int read_start(uint32_t pid, int64_t *out)
{
	struct timespec now, booted;
	unsigned long long ticks;
	char text[1024];
	const char *at;
	int err = proc_file_read(pid, "stat", text, sizeof(text));

	if (err)
		return err;
	at = proc_file_stat(text, STAT_FIELD_START);
	if (!at || sscanf(at, "%llu", &ticks) != 1)
		return -EBADMSG;
	clock_gettime(CLOCK_REALTIME, &now);
	clock_gettime(CLOCK_BOOTTIME, &booted);
	*out = now.tv_sec - booted.tv_sec + (int64_t)(ticks / (uint64_t)sysconf(_SC_CLK_TCK));
	return 0;
}

int code_owner_find(uint32_t pid, struct code_owner *out)
{
	int err;

	*out = (struct code_owner){.pid = pid, .temporary = -1};
	err = read_status(pid, out);
	return err ? err : read_start(pid, &out->started);
}

int code_owner_temporary(uint32_t pid)
{
	struct open_how how = {
		.flags = O_PATH | O_DIRECTORY | O_CLOEXEC,
		.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_SYMLINKS,
	};
	struct stat ours, theirs;
	int root, fd, err;

	root = proc_shown_open(pid, "root", O_PATH | O_DIRECTORY);
	if (root < 0)
		return root;
	fd = (int)syscall(SYS_openat2, root, "tmp", &how, sizeof(how));
	err = fd < 0 ? -errno : 0;
	close(root);
	if (fd >= 0 && !stat("/tmp", &ours) && !fstat(fd, &theirs) &&
	    ours.st_dev == theirs.st_dev && ours.st_ino == theirs.st_ino) {
		close(fd);
		return -ENOENT;
	}
	return err ? err : fd;
}

bool code_owner_made(const struct code_owner *owner, uid_t user, int64_t mtime_s)
{
	return user == owner->user && mtime_s >= owner->started - SLACK_S;
}

bool code_owner_has(const struct code_owner *owner, int fd)
{
	struct stat st;

	return !fstat(fd, &st) && S_ISREG(st.st_mode) &&
	       code_owner_made(owner, st.st_uid, st.st_mtime);
}

int code_owner_find_map(const struct code_owner *owner, char path[CODE_OWNER_PATH])
{
	int handle;

	snprintf(path, CODE_OWNER_PATH, "%sperf-%u.map", owner->temporary < 0 ? "/tmp/" : "",
		 owner->number);
	handle = openat(owner->temporary, path, O_PATH | O_CLOEXEC | O_NOFOLLOW);
	return handle < 0 ? -errno : handle;
}

bool code_owner_is_dump(const char *path)
{
	const char *name = path_base(path);
	size_t digits;

	if (strncmp(name, "jit-", 4) != 0)
		return false;
	digits = strspn(name + 4, "0123456789");
	return digits && strcmp(name + 4 + digits, ".dump") == 0;
}
