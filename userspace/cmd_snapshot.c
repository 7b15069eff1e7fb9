// SPDX-License-Identifier: BSD-2-Clause
/* cmd_snapshot.c: gcprof snapshot: makes a recorder with --keep write a snapshot. */
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "commands.h"
#include "util/log.h"
#include "util/proc_file.h"

static bool is_named(uint32_t pid)
{
	char name[32];

	return !proc_file_read(pid, "comm", name, sizeof(name)) && strcmp(name, "gcprof\n") == 0;
}

/* Recorders with --keep block SIGUSR2; it would kill others. A process that is starting another one
 * blocks all signals for a moment, so SIGUSR1 must not be blocked. */
static bool takes_signal(uint32_t pid)
{
	char status[4096];
	const char *line;
	uint64_t blocked;

	if (proc_file_read(pid, "status", status, sizeof(status)))
		return false;
	line = strstr(status, "\nSigBlk:");
	blocked = line ? strtoull(line + strlen("\nSigBlk:"), NULL, 16) : 0;
	return blocked >> (SIGUSR2 - 1) & 1 && !(blocked >> (SIGUSR1 - 1) & 1);
}

/* Counts the recorders with --keep; *pid is one of them. */
static size_t find_recorders(uint32_t *pid)
{
	DIR *proc = opendir("/proc");
	const struct dirent *entry;
	size_t count = 0;

	while (proc && (entry = readdir(proc))) {
		uint64_t number;

		if (parse_number(entry->d_name, &number) || !is_named((uint32_t)number) ||
		    !takes_signal((uint32_t)number))
			continue;
		*pid = (uint32_t)number;
		count++;
	}
	if (proc)
		closedir(proc);
	return count;
}

/* Uses a pidfd, so that the number cannot be reused between check and signal. */
static int ask(uint32_t pid)
{
	int fd = (int)syscall(SYS_pidfd_open, pid, 0), err = fd < 0 ? -errno : 0;

	if (!err && (!is_named(pid) || !takes_signal(pid)))
		err = -EINVAL;
	if (!err && syscall(SYS_pidfd_send_signal, fd, SIGUSR2, NULL, 0))
		err = -errno;
	if (fd >= 0)
		close(fd);
	if (err)
		log_error("process %u: %s", pid,
			  err == -EINVAL  ? "not a gcprof record --keep"
			  : err == -EPERM ? "it belongs to another user: use sudo"
					  : strerror(-err));
	return err;
}

static int snapshot_run(int argc, char **argv)
{
	const char *word = NULL;
	int words = options_parse_words(&cmd_snapshot, NULL, argc, argv, &word, 1);
	uint64_t number = 0;
	uint32_t pid = 0;
	size_t count;

	if (words < 0)
		return EXIT_USAGE;
	if (word && (parse_number(word, &number) || !number || number > INT32_MAX)) {
		log_error("%s: not a process number\nTry 'gcprof snapshot --help'.", word);
		return EXIT_USAGE;
	}
	count = word ? 1 : find_recorders(&pid);
	if (!count)
		log_error("no gcprof record --keep is running");
	if (count > 1)
		log_error("%zu gcprof record --keep are running: give the process number of one",
			  count);
	if (count != 1)
		return EXIT_FAILURE;
	pid = word ? (uint32_t)number : pid;
	if (ask(pid))
		return EXIT_FAILURE;
	log_info("process %u writes a snapshot and prints its name", pid);
	return 0;
}

const struct command cmd_snapshot = {
	.name = "snapshot",
	.usage = "[PID]",
	.summary = "make a recorder (record --keep) write a snapshot",
	.needs_root = true,
	.run = snapshot_run,
};
