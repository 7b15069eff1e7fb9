/* SPDX-License-Identifier: BSD-2-Clause */
/* restore.c: a stopped program's copy of code gets its original instructions, without breakpoints.
 */
#include "restore.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "../machine/clock.h"
#include "../../util/proc_file.h"

enum {
	BREAKPOINT = 0xCC,
	STOP_TRIES = 1000, /* until it is stopped: 1 ms each */
	TRY_NS = 1000000,
	FIELD_STATE = 3, /* of /proc/PID/stat */
};

static bool is_stopped(uint32_t pid)
{
	char stat[1024];
	const char *state;

	if (proc_file_read(pid, "stat", stat, sizeof(stat)))
		return false;
	state = proc_file_stat(stat, FIELD_STATE);
	return state && (*state == 'T' || *state == 't');
}

/* The call that replaces the code may take a while. */
static void await_stop(uint32_t pid)
{
	const struct timespec pause = {.tv_nsec = TRY_NS};

	for (int i = 0; i < STOP_TRIES && !is_stopped(pid); i++)
		nanosleep(&pause, NULL);
}

/* The kernel's breakpoints in a file's own code are left alone. */
static int restore_range(const struct restore_request *request, int memory, uint64_t start,
			 uint64_t end)
{
	int restored = 0;

	for (uint32_t i = 0; i < request->count; i++) {
		uint64_t address = request->addresses[i];
		unsigned char code;

		if (address < start || address >= end ||
		    pread(memory, &code, 1, (off_t)address) != 1 || code != BREAKPOINT)
			continue;
		restored += pwrite(memory, &request->code[i], 1, (off_t)address) == 1;
	}
	return restored;
}

static int restore_all(const struct restore_request *request, int pidfd)
{
	char path[64], *line = NULL;
	uint64_t start, end, inode;
	uint32_t thread = proc_shown_by(request->pid);
	int memory, restored = 0, maps = proc_file_open(thread, "maps");
	FILE *file = maps < 0 ? NULL : fdopen(maps, "r");
	size_t size = 0;

	/* As a thread of the process: its number alone may be another program's by now. */
	snprintf(path, sizeof(path), "/proc/%" PRIu32 "/task/%" PRIu32 "/mem", request->pid,
		 thread);
	memory = open(path, O_RDWR | O_CLOEXEC);
	if (!proc_is_alive(pidfd)) {
		close(memory);
		memory = -1;
	}
	while (file && memory >= 0 && getline(&line, &size, file) > 0)
		if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %*s %*x %*x:%*x %" SCNu64, &start, &end,
			   &inode) == 3 &&
		    !inode)
			restored += restore_range(request, memory, start, end);
	free(line);
	if (file)
		fclose(file);
	else if (maps >= 0)
		close(maps);
	if (memory >= 0)
		close(memory);
	return file && memory >= 0 ? restored : -ESRCH;
}

static int hold(const struct restore_request *request)
{
	return proc_hold(request->pid, clock_now() - request->since);
}

static void resume(int pidfd)
{
	(void)syscall(SYS_pidfd_send_signal, pidfd, SIGCONT, NULL, 0);
	close(pidfd);
}

void restore_continue(const struct restore_request *request)
{
	int pidfd = hold(request);

	if (pidfd >= 0)
		resume(pidfd);
}

int restore_code(const struct restore_request *request)
{
	int restored, pidfd = hold(request);

	if (pidfd < 0)
		return pidfd;
	await_stop(request->pid);
	restored = restore_all(request, pidfd);
	resume(pidfd);
	return restored;
}
