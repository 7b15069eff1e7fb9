// SPDX-License-Identifier: BSD-2-Clause
/* cmd_snapshot.c: gcprof snapshot, pause and resume: signals to a running recorder. */
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
#include "record/ingest/watch.h"
#include "util/log.h"
#include "util/proc_file.h"

enum { LISTED_MAX = 16 };

/* What a verb asks for. */
struct request {
	const struct command *command;
	int signal;
	const char *recorder; /* who takes it */
	const char *done;
};

static bool is_named(uint32_t pid)
{
	char name[32];

	return !proc_file_read(pid, "comm", name, sizeof(name)) && strcmp(name, "gcprof\n") == 0;
}

/* Recorders block the signals that they take; these would kill others. A process that is starting
 * another one blocks all signals for a moment, so SIGUSR1 must not be blocked. */
static bool takes_signal(uint32_t pid, int signal)
{
	char status[4096];
	const char *line;
	uint64_t blocked;

	if (!is_named(pid) || proc_file_read(pid, "status", status, sizeof(status)))
		return false;
	line = strstr(status, "\nSigBlk:");
	blocked = line ? strtoull(line + strlen("\nSigBlk:"), NULL, 16) : 0;
	return blocked >> (signal - 1) & 1 && !(blocked >> (SIGUSR1 - 1) & 1);
}

/* The number after `key` in a file of /proc/PID; 0: none. */
static uint32_t number_in(uint32_t pid, const char *file, const char *key)
{
	char text[4096];
	const char *line = proc_file_read(pid, file, text, sizeof(text)) ? NULL : strstr(text, key);

	return line ? (uint32_t)strtoul(line + strlen(key), NULL, 10) : 0;
}

/* A recorder has a pidfd of each process that it was asked to record. */
static bool has_pidfd(uint32_t recorder, uint32_t pid)
{
	char path[64];
	const struct dirent *entry;
	bool found = false;
	DIR *fds;

	snprintf(path, sizeof(path), "/proc/%u/fdinfo", recorder);
	fds = opendir(path);
	while (fds && !found && (entry = readdir(fds))) {
		snprintf(path, sizeof(path), "fdinfo/%.20s", entry->d_name);
		found = number_in(recorder, path, "\nPid:\t") == pid;
	}
	if (fds)
		closedir(fds);
	return found;
}

/* Does it record the process, or one that this descends from? 0: any. */
static bool records(uint32_t recorder, uint32_t pid)
{
	bool found = !pid;

	for (; pid > 1 && !found; pid = number_in(pid, "status", "\nPPid:"))
		found = has_pidfd(recorder, pid);
	return found;
}

/* Counts the recorders of a process (0: all); pids[] gets the first. */
static size_t find_recorders(int signal, uint32_t of, uint32_t pids[LISTED_MAX])
{
	DIR *proc = opendir("/proc");
	const struct dirent *entry;
	size_t count = 0;

	while (proc && (entry = readdir(proc))) {
		uint64_t number;

		if (parse_number(entry->d_name, &number) ||
		    !takes_signal((uint32_t)number, signal) || !records((uint32_t)number, of))
			continue;
		if (count < LISTED_MAX)
			pids[count] = (uint32_t)number;
		count++;
	}
	if (proc)
		closedir(proc);
	return count;
}

/* "1234: gcprof record -- ./app" */
static void list(const uint32_t *pids, size_t count)
{
	for (size_t i = 0; i < count && i < LISTED_MAX; i++) {
		char words[256] = "";
		size_t size = sizeof(words) - 1;
		char path[64];
		FILE *file;

		snprintf(path, sizeof(path), "/proc/%u/cmdline", pids[i]);
		file = fopen(path, "re");
		size = file ? fread(words, 1, size, file) : 0;
		if (file)
			fclose(file);
		for (size_t at = 0; at + 1 < size; at++)
			words[at] = words[at] ? words[at] : ' ';
		snprintf(path, sizeof(path), "%u: ", pids[i]);
		memmove(words + strlen(path), words, sizeof(words) - strlen(path) - 1);
		memcpy(words, path, strlen(path));
		log_escaped(LOG_INFO, words);
	}
}

/* Uses a pidfd, so that the number cannot be reused between check and signal. */
static int ask(const struct request *request, uint32_t pid)
{
	int fd = (int)syscall(SYS_pidfd_open, pid, 0), err = fd < 0 ? -errno : 0;

	if (!err && !takes_signal(pid, request->signal))
		err = -EINVAL;
	if (!err && syscall(SYS_pidfd_send_signal, fd, request->signal, NULL, 0))
		err = -errno;
	if (fd >= 0)
		close(fd);
	if (err)
		log_error("process %u: %s%s", pid, err == -EINVAL ? "not a " : "",
			  err == -EINVAL  ? request->recorder
			  : err == -EPERM ? "it belongs to another user: use sudo"
					  : strerror(-err));
	else
		log_info("process %u %s", pid, request->done);
	return err;
}

static int run(const struct request *request, int argc, char **argv)
{
	uint32_t pids[LISTED_MAX] = {0};
	const char *word = NULL;
	int words = options_parse_words(request->command, NULL, argc, argv, &word, 1);
	uint64_t number = 0;
	size_t count;

	if (words < 0)
		return EXIT_USAGE;
	if (word && (parse_number(word, &number) || !number || number > INT32_MAX)) {
		log_error("%s: not a process number\nTry 'gcprof %s --help'.", word,
			  request->command->name);
		return EXIT_USAGE;
	}
	count = word && is_named((uint32_t)number)
			? 0
			: find_recorders(request->signal, (uint32_t)number, pids);
	if (count > 1) {
		log_error("%zu %s are running: give the process number of one", count,
			  request->recorder);
		list(pids, count);
		return EXIT_FAILURE;
	}
	if (!count && !word) {
		log_error("no %s is running", request->recorder);
		return EXIT_FAILURE;
	}
	return ask(request, count ? pids[0] : (uint32_t)number) ? EXIT_FAILURE : 0;
}

static int snapshot_run(int argc, char **argv)
{
	const struct request request = {&cmd_snapshot, SIGUSR2, "gcprof record --keep",
					"writes a snapshot and prints its name"};

	return run(&request, argc, argv);
}

static int pause_run(int argc, char **argv)
{
	const struct request request = {&cmd_pause, SIGNAL_PAUSE, "gcprof record",
					"pauses its recording"};

	return run(&request, argc, argv);
}

static int resume_run(int argc, char **argv)
{
	const struct request request = {&cmd_resume, SIGNAL_RESUME, "gcprof record",
					"resumes its recording"};

	return run(&request, argc, argv);
}

const struct command cmd_snapshot = {
	.name = "snapshot",
	.usage = "[PID]",
	.summary = "make a recorder (record --keep) write a snapshot",
	.needs_root = true,
	.run = snapshot_run,
};

const struct command cmd_pause = {
	.name = "pause",
	.usage = "[PID]",
	.summary = "pause a recorder",
	.needs_root = true,
	.run = pause_run,
};

const struct command cmd_resume = {
	.name = "resume",
	.usage = "[PID]",
	.summary = "resume a recorder that was paused, or started with --start-paused",
	.needs_root = true,
	.run = resume_run,
};
