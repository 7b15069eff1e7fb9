// SPDX-License-Identifier: BSD-2-Clause
/* snapshot.c: gcprof snapshot, pause and resume: signals to a running recorder. */
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../commands.h"
#include "../../record/ingest/watch.h"
#include "../../util/invoker.h"
#include "../../util/log.h"
#include "../../util/proc_file.h"
#include "../../util/recorders.h"

enum {
	RECORDERS_MAX = 256,
	LISTED_MAX = 16,
};

/* What a verb asks for. */
struct request {
	const struct command *command;
	int signal;
	bool kept;            /* only --keep takes it: it ends others */
	const char *recorder; /* who takes it */
	const char *done;
	uid_t invoker;
};

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

static bool may(const struct request *request, const struct recorder *recorder)
{
	return !request->invoker || recorder->invoker == request->invoker;
}

/* The recorder with this number. Only root finds those of other users. */
static bool find_one(const struct request *request, uint32_t pid, struct recorder *out)
{
	struct recorder all[RECORDERS_MAX];
	uid_t users[] = {geteuid(), (uid_t)number_in(pid, "status", "\nUid:\t")};

	for (size_t user = 0; user < (request->invoker ? 1 : 2); user++) {
		size_t n = recorders_find(users[user], all, RECORDERS_MAX);

		for (size_t i = 0; i < n; i++)
			if ((uint32_t)all[i].pid == pid) {
				*out = all[i];
				return true;
			}
	}
	return false;
}

/* Counts the recorders of a process (0: all) that the invoker may use; all[] gets them. */
static size_t find_recorders(const struct request *request, uint32_t of,
			     struct recorder all[RECORDERS_MAX])
{
	size_t n = recorders_find(geteuid(), all, RECORDERS_MAX), count = 0;

	for (size_t i = 0; i < n; i++)
		if (may(request, &all[i]) && (all[i].keeps || !request->kept) &&
		    records((uint32_t)all[i].pid, of))
			all[count++] = all[i];
	return count;
}

/* "1234: gcprof record -- ./app" */
static void list(const struct recorder *all, size_t count)
{
	for (size_t i = 0; i < count && i < LISTED_MAX; i++) {
		char words[256] = "";
		int file = proc_file_open((uint32_t)all[i].pid, "cmdline");
		ssize_t size = file < 0 ? 0 : read(file, words, sizeof(words) - 1);

		if (file >= 0)
			close(file);
		for (ssize_t at = 0; at + 1 < size; at++)
			words[at] = words[at] ? words[at] : ' ';
		log_info("%d: %s", (int)all[i].pid, words);
	}
}

/* Uses a pidfd, so that the number cannot be reused between check and signal. */
static int cmd_snapshot_ask(const struct request *request, uint32_t pid)
{
	int fd = (int)syscall(SYS_pidfd_open, pid, 0), err = fd < 0 ? -errno : 0;
	struct recorder recorder;

	if (!err && !find_one(request, pid, &recorder))
		err = number_in(pid, "status", "\nUid:\t") == geteuid() || !request->invoker
			      ? -EINVAL
			      : -EPERM;
	else if (!err && !may(request, &recorder))
		err = -EACCES;
	else if (!err && request->kept && !recorder.keeps)
		err = -EINVAL;
	if (!err && syscall(SYS_pidfd_send_signal, fd, request->signal, NULL, 0))
		err = -errno;
	if (fd >= 0)
		close(fd);
	if (err)
		log_error("process %u: %s%s", pid, err == -EINVAL ? "not a " : "",
			  err == -EINVAL   ? request->recorder
			  : err == -EPERM  ? "it belongs to another user: use sudo"
			  : err == -EACCES ? "another user had it started, and only root may use it"
					   : strerror(-err));
	else
		log_info("process %u %s", pid, request->done);
	return err;
}

static int cmd_snapshot_run(struct request *request, int argc, char **argv)
{
	struct recorder all[RECORDERS_MAX], one;
	struct invoker invoker;
	const char *word = NULL, *variable;
	int words = options_parse_words(request->command, NULL, argc, argv, &word, 1);
	uint64_t number = 0;
	size_t count = 0;

	if (words < 0)
		return EXIT_USAGE;
	if (word && (parse_number(word, &number) || !number || number > INT32_MAX)) {
		log_error("%s: not a process number\nTry 'gcprof %s --help'.", word,
			  request->command->name);
		return EXIT_USAGE;
	}
	if (invoker_find(&invoker, &variable)) /* refused before */
		return EXIT_FAILURE;
	request->invoker = invoker.uid;
	if (!word || !find_one(request, (uint32_t)number, &one))
		count = find_recorders(request, (uint32_t)number, all);
	if (count > 1) {
		log_error("%zu %s are running: give the process number of one", count,
			  request->recorder);
		list(all, count);
		return EXIT_FAILURE;
	}
	if (!count && !word) {
		log_error("no %s is running", request->recorder);
		return EXIT_FAILURE;
	}
	return cmd_snapshot_ask(request, count ? (uint32_t)all[0].pid : (uint32_t)number)
		       ? EXIT_FAILURE
		       : 0;
}

static int snapshot_run(int argc, char **argv)
{
	struct request request = {&cmd_snapshot,
				  SIGUSR2,
				  true,
				  "gcprof record --keep",
				  "writes a snapshot and prints its name",
				  0};

	return cmd_snapshot_run(&request, argc, argv);
}

static int pause_run(int argc, char **argv)
{
	struct request request = {&cmd_pause,      SIGNAL_PAUSE,           false,
				  "gcprof record", "pauses its recording", 0};

	return cmd_snapshot_run(&request, argc, argv);
}

static int resume_run(int argc, char **argv)
{
	struct request request = {&cmd_resume,     SIGNAL_RESUME,           false,
				  "gcprof record", "resumes its recording", 0};

	return cmd_snapshot_run(&request, argc, argv);
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
