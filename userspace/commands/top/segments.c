/* SPDX-License-Identifier: BSD-2-Clause */
/* segments.c: a recorder that writes a series of short profiles into its own directory. */
#include "segments.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../util/invoker.h"

struct segments {
	char folder[64], path[96], log[96];
	unsigned number; /* of the last profile returned */
	int watch;       /* inotify */
	int leash;       /* the keeper ends the recorder when this is closed */
	pid_t keeper;
	bool ended;
	int status;
};

static int status_of(int status)
{
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* The recorder's process. Its output and its program's output go into a file. */
static void record(const char *folder, char *const words[])
{
	char output[96], log[96];
	char *const own[] = {"gcprof", "record", "-o", output};
	enum { OWN = sizeof(own) / sizeof(*own) };
	char **arguments;
	size_t n = 0;
	int fd;

	snprintf(output, sizeof(output), "%s/part", folder);
	snprintf(log, sizeof(log), "%s/log", folder);
	while (words[n])
		n++;
	arguments = calloc(OWN + n + 1, sizeof(*arguments));
	/* If the keeper is killed, nobody ends the recording. */
	if (!arguments || prctl(PR_SET_PDEATHSIG, SIGINT, 0, 0, 0))
		_exit(126);
	memcpy(arguments, own, sizeof(own));
	memcpy(arguments + OWN, words, n * sizeof(*words));
	fd = open(log, O_WRONLY | O_APPEND | O_NOFOLLOW);
	if (fd < 0 || dup2(fd, STDOUT_FILENO) < 0 || dup2(fd, STDERR_FILENO) < 0)
		_exit(126);
	execv("/proc/self/exe", arguments);
	_exit(126);
}

/*
 * The keeper has the recorder's rights, which its caller gives up. It starts the recorder
 * once the directory is known, and ends it when the caller asks for it or is gone. It has
 * its own process group, so only the caller gets Ctrl-C.
 */
static void keep(int leash, char *const words[])
{
	char folder[sizeof(((struct segments *)NULL)->folder)] = "";
	ssize_t size = read(leash, folder, sizeof(folder) - 1);
	struct pollfd either[2] = {{.fd = leash, .events = POLLIN}, {.events = POLLIN}};
	int status = 126 << 8;
	pid_t recorder;

	if (size <= 0)
		_exit(126);
	setpgid(0, 0);
	recorder = fork();
	if (recorder == 0)
		record(folder, words);
	either[1].fd = recorder > 0 ? (int)syscall(SYS_pidfd_open, recorder, 0) : -1;
	while (poll(either, 2, -1) < 0 && errno == EINTR)
		;
	if (recorder > 0 && either[0].revents)
		kill(recorder, SIGINT);
	while (recorder > 0 && waitpid(recorder, &status, 0) < 0 && errno == EINTR)
		;
	_exit(status_of(status));
}

static int make_folder(struct segments *segments)
{
	int fd;

	snprintf(segments->folder, sizeof(segments->folder), "/tmp/gcprof-top-XXXXXX");
	if (!mkdtemp(segments->folder))
		return -errno;
	snprintf(segments->log, sizeof(segments->log), "%s/log", segments->folder);
	fd = open(segments->log, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	close(fd);
	segments->watch = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	if (segments->watch < 0 || inotify_add_watch(segments->watch, segments->folder,
						     IN_CREATE | IN_MOVED_TO | IN_CLOSE_WRITE) < 0)
		return -errno;
	return 0;
}

static int segments_begin(struct segments *segments, const struct invoker *invoker)
{
	int err = invoker_become(invoker);

	err = err ? err : make_folder(segments);
	if (!err && write(segments->leash, segments->folder, strlen(segments->folder)) < 0)
		err = -errno;
	return err;
}

int segments_start(char *const words[], struct segments **out)
{
	struct segments *segments = calloc(1, sizeof(*segments));
	const char *variable;
	struct invoker invoker;
	int ends[2], err;

	if (!segments)
		return -ENOMEM;
	err = invoker_find(&invoker, &variable);
	if (!err && socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
		err = -errno;
	if (err) {
		free(segments);
		return err;
	}
	segments->watch = -1;
	segments->leash = ends[0];
	segments->keeper = fork();
	if (segments->keeper == 0) {
		close(ends[0]);
		keep(ends[1], words);
	}
	close(ends[1]);
	err = segments->keeper < 0 ? -errno : segments_begin(segments, &invoker);
	if (err)
		segments_finish(segments, false);
	else
		*out = segments;
	return err;
}

void segments_poll(const struct segments *segments, struct pollfd fds[2])
{
	fds[0] = (struct pollfd){.fd = segments->watch, .events = POLLIN};
	fds[1] = (struct pollfd){.fd = segments->ended ? -1 : segments->leash, .events = POLLIN};
}

bool segments_ended(struct segments *segments)
{
	int status;

	if (!segments->ended && waitpid(segments->keeper, &status, WNOHANG) == segments->keeper) {
		segments->ended = true;
		segments->status = status_of(status);
	}
	return segments->ended;
}

static void name(const struct segments *segments, unsigned number, char path[96])
{
	snprintf(path, 96, "%s/part-%04u", segments->folder, number);
}

/* A profile is complete when the next one exists or the recorder has ended. */
const char *segments_next(struct segments *segments)
{
	bool ended = segments_ended(segments);
	char events[4096], next[96];

	while (read(segments->watch, events, sizeof(events)) > 0)
		;
	name(segments, segments->number + 1, segments->path);
	name(segments, segments->number + 2, next);
	if (access(segments->path, R_OK) || (access(next, F_OK) && !ended))
		return NULL;
	segments->number++;
	/* The log is shown only if there is no profile at all; it must not grow without limit. */
	if (truncate(segments->log, 0))
		return NULL;
	return segments->path;
}

/* Prints the output of the recorder and its program. */
static void print_log(const struct segments *segments)
{
	FILE *log = fopen(segments->log, "re");
	char text[4096];
	size_t size;

	while (log && (size = fread(text, 1, sizeof(text), log)))
		fwrite(text, 1, size, stderr);
	if (log)
		fclose(log);
}

int segments_finish(struct segments *segments, bool tell)
{
	int status;

	/* The keeper notices, and exits after the recorder. */
	close(segments->leash);
	if (segments->keeper > 0 && !segments->ended &&
	    waitpid(segments->keeper, &status, 0) == segments->keeper)
		segments->status = status_of(status);
	segments->ended = true;
	if (tell)
		print_log(segments);
	while (segments->number && segments_next(segments))
		unlink(segments->path);
	unlink(segments->log);
	rmdir(segments->folder);
	if (segments->watch >= 0)
		close(segments->watch);
	status = segments->status;
	free(segments);
	return status;
}
