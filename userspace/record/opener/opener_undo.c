// SPDX-License-Identifier: BSD-2-Clause
/* opener_undo.c: undoes what a recorder has written into programs, after its end. */
/*
 * Each entry has a process of its own, since access to a program's memory may hang. None is waited
 * for long, so that no program keeps others from being restored.
 */
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "opener_process.h"
#include "undo.h"

#define HANGS_MAX 16   /* so many entries are waited for in vain */
#define WAIT_MS   50   /* for an entry, until then */
#define END_MS    2000 /* for all that hang */

static int list = -1;

void opener_undo_later(int fd)
{
	if (list >= 0)
		return;
	list = dup(fd);
	prctl(PR_SET_PDEATHSIG, 0, 0, 0, 0);
}

/* Has it ended within this time? */
static bool ends(pid_t pid, int ms)
{
	struct pollfd wait = {.fd = (int)syscall(SYS_pidfd_open, pid, 0), .events = POLLIN};
	bool ended = wait.fd >= 0 && poll(&wait, 1, ms) > 0;

	if (wait.fd >= 0)
		close(wait.fd);
	return ended;
}

/* Its process; 0: it is undone. */
static pid_t undo_row(const struct opener_memory *order)
{
	struct opener_block block;
	pid_t pid = fork();

	if (pid > 0)
		return pid;
	(void)opener_change_memory(order, &block);
	if (!pid)
		_exit(EXIT_SUCCESS);
	return 0;
}

void opener_undo(void)
{
	static pid_t hung[UNDO_MAX];
	struct undo_row row;
	size_t n = 0;

	for (size_t i = 0; list >= 0 && i <= UNDO_MAX; i++) {
		ssize_t size = pread(list, &row, sizeof(row), (off_t)(i * sizeof(row)));
		pid_t pid = size == sizeof(row) && row.used ? undo_row(&row.order) : 0;

		if (size != sizeof(row))
			break;
		if (pid > 0 && !ends(pid, n < HANGS_MAX ? WAIT_MS : 0) && n < UNDO_MAX)
			hung[n++] = pid;
	}
	for (int ms = 0; ms < END_MS && n; ms += WAIT_MS)
		n -= ends(hung[n - 1], WAIT_MS);
	while (n)
		kill(hung[--n], SIGKILL);
}
