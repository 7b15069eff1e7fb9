/* SPDX-License-Identifier: BSD-2-Clause */
/* cmd_record_push.c: `gcprof record --push`: pushes each profile when it is complete. */
/*
 * A separate process pushes: it becomes the invoker, without root's rights, before anything is
 * recorded, so the recorder needs no network. It runs gcprof push for one path after the other.
 */
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cmd_push.h"
#include "cmd_record.h"
#include "util/log.h"

enum { WORDS_MAX = 16 + 2 * OPTION_LIST_MAX };

struct words {
	const char *items[WORDS_MAX];
	size_t count;
};

static void add(struct words *words, const char *option, const char *value)
{
	if (!value)
		return;
	words->items[words->count++] = option;
	words->items[words->count++] = value;
}

static _Noreturn void push(const struct record_options *options, const char *path)
{
	const struct pushing *pushing = &options->push;
	struct words words = {{"gcprof", "push"}, 2};

	add(&words, "--to", pushing->url);
	add(&words, "--user", pushing->user);
	add(&words, "--password-file", pushing->password_file);
	add(&words, "--ca-file", pushing->ca_file);
	add(&words, "--spool", options->spool);
	for (size_t i = 0; i < options->labels.count; i++)
		add(&words, "--label", options->labels.items[i]);
	add(&words, "--", path);
	execv("/proc/self/exe", (char *const *)(uintptr_t)words.items);
	log_error("%s: not pushed: %s", path, strerror(errno));
	_exit(EXIT_FAILURE);
}

/* A change of user would undo it, so this comes after it. */
static void die_with(pid_t parent)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(EXIT_FAILURE);
}

static _Noreturn void serve(const struct recording *recording, int socket, pid_t recorder)
{
	int err = invoker_become(&recording->user), failed = 0;
	char path[PATH_MAX + 1];
	pid_t self = getpid();
	ssize_t n;

	die_with(recorder);
	/* Ctrl-C ends the recording, and this process must survive it to push the last profile. */
	setpgid(0, 0);
	prctl(PR_SET_NAME, "gcprof-pusher");
	while (!err && (n = recv(socket, path, sizeof(path) - 1, 0)) > 0) {
		pid_t pid;
		int status;

		path[n] = '\0';
		pid = fork();
		if (pid == 0) {
			die_with(self);
			push(&recording->options, path);
		}
		if (pid < 0 || waitpid(pid, &status, 0) < 0)
			failed = true;
		else /* what is in the spool is not lost */
			failed |= status &&
				  !(WIFEXITED(status) && WEXITSTATUS(status) == EXIT_SPOOLED);
	}
	_exit(err || failed);
}

int recording_push_open(struct recording *recording)
{
	pid_t recorder = getpid();
	int pair[2];

	recording->pusher.socket = -1;
	if (!recording->options.push.url)
		return 0;
	if (server_check(recording->options.push.url, &recording->options.labels))
		return EXIT_USAGE;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
		return recording_fail_errno("--push", -errno);
	recording->pusher.pid = fork();
	if (recording->pusher.pid == 0) {
		close(pair[0]);
		serve(recording, pair[1], recorder);
	}
	close(pair[1]);
	recording->pusher.socket = pair[0];
	return recording->pusher.pid < 0 ? recording_fail_errno("--push", -errno) : 0;
}

void recording_push(const struct recording *recording, const char *path)
{
	if (recording->pusher.socket < 0 || !path)
		return;
	if (send(recording->pusher.socket, path, strlen(path), MSG_DONTWAIT | MSG_NOSIGNAL) < 0)
		log_warning(
			"%s was not pushed, because earlier profiles are still being pushed; use: "
			"gcprof push",
			path);
}

int recording_push_close(struct recording *recording)
{
	sigset_t all;
	int status = 0;

	if (recording->pusher.socket < 0)
		return 0;
	close(recording->pusher.socket);
	/* The profile is complete: signals may now end this process. */
	sigfillset(&all);
	sigprocmask(SIG_UNBLOCK, &all, NULL);
	while (waitpid(recording->pusher.pid, &status, 0) < 0 && errno == EINTR)
		;
	if (!status)
		return 0;
	log_error("not every profile was pushed; the files are kept, and gcprof push pushes them");
	return EXIT_FAILURE;
}
