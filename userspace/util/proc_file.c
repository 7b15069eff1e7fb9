// SPDX-License-Identifier: BSD-2-Clause
/* proc_file.c: reads small files of /proc/PID. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "proc_file.h"

int proc_file_open(uint32_t pid, const char *name)
{
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/proc/%u/%s", pid, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

int proc_file_read(uint32_t pid, const char *name, char *out, size_t size)
{
	int fd = proc_file_open(pid, name), err;
	ssize_t n;

	if (fd < 0)
		return fd;
	n = read(fd, out, size - 1);
	err = n < 0 ? -errno : 0;
	close(fd);
	if (!err)
		out[n] = '\0';
	return err;
}

const char *proc_file_stat(const char *stat, int field)
{
	/* The second field, a name in parentheses, may contain anything. */
	const char *at = strrchr(stat, ')');

	for (int i = 2; at && i < field; i++)
		at = strchr(at + 1, ' ');
	return at ? at + 1 : NULL;
}
