// SPDX-License-Identifier: BSD-2-Clause
/* proc_file.c: reads small files of /proc/PID. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "proc_file.h"

enum { FIELD_START = 22 };

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

/* How long ago it began, ns, rounded up. A negative errno. */
static int64_t read_age(uint32_t pid)
{
	const int64_t second = 1000000000, tick = second / sysconf(_SC_CLK_TCK);
	struct timespec booted;
	char text[1024];
	const char *at;
	int err = proc_file_read(pid, "stat", text, sizeof(text));

	if (err)
		return err;
	at = proc_file_stat(text, FIELD_START);
	if (!at)
		return -EBADMSG;
	clock_gettime(CLOCK_BOOTTIME, &booted);
	return booted.tv_sec * second + booted.tv_nsec - strtoll(at, NULL, 10) * tick;
}

int proc_hold(uint32_t pid, uint64_t age)
{
	int fd = (int)syscall(SYS_pidfd_open, (pid_t)pid, 0);
	int64_t real;

	if (fd < 0)
		return -errno;
	real = read_age(pid);
	if (real >= (int64_t)age && proc_is_alive(fd))
		return fd;
	close(fd);
	/* /proc may hide it. */
	return real < 0 ? -EACCES : -ESRCH;
}

bool proc_is_alive(int pidfd)
{
	struct pollfd end = {.fd = pidfd, .events = POLLIN};

	return !poll(&end, 1, 0);
}

/* Has the thread not ended? A main thread stays as a zombie while others run. */
static bool thread_lives(uint32_t pid, const char *thread)
{
	char name[64], stat[1024];
	const char *state;

	snprintf(name, sizeof(name), "task/%s/stat", thread);
	if (proc_file_read(pid, name, stat, sizeof(stat)))
		return false;
	state = proc_file_stat(stat, 3);
	return state && *state != 'Z' && *state != 'X';
}

uint32_t proc_living_thread(uint32_t pid)
{
	char path[32], thread[16];
	struct dirent *entry;
	uint32_t found = 0;
	DIR *threads;

	snprintf(thread, sizeof(thread), "%" PRIu32, pid);
	if (thread_lives(pid, thread))
		return pid;
	snprintf(path, sizeof(path), "/proc/%" PRIu32 "/task", pid);
	threads = opendir(path);
	while (threads && !found && (entry = readdir(threads)))
		if (entry->d_name[0] != '.' && thread_lives(pid, entry->d_name))
			found = (uint32_t)strtoul(entry->d_name, NULL, 10);
	if (threads)
		closedir(threads);
	return found;
}

void proc_shown(uint32_t pid, const char *name, char path[PROC_SHOWN_MAX])
{
	uint32_t thread = proc_living_thread(pid);

	snprintf(path, PROC_SHOWN_MAX, "/proc/%" PRIu32 "/task/%" PRIu32 "/%s", pid,
		 thread ? thread : pid, name);
}

int proc_shown_open(uint32_t pid, const char *name, int flags)
{
	char path[PROC_SHOWN_MAX];
	int fd;

	proc_shown(pid, name, path);
	fd = open(path, flags | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

const char *proc_file_stat(const char *stat, int field)
{
	/* The second field, a name in parentheses, may contain anything. */
	const char *at = strrchr(stat, ')');

	for (int i = 2; at && i < field; i++)
		at = strchr(at + 1, ' ');
	return at ? at + 1 : NULL;
}
