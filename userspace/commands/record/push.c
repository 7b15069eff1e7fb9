/* SPDX-License-Identifier: BSD-2-Clause */
/* push.c: `gcprof record --push`: pushes each profile when it is complete. */
/*
 * A separate process pushes (commands/push/serve.c). It gets one path after the other, and answers
 * each with a byte: 0 if that profile is safe. It belongs to the user, who may stop it, so the end
 * of the recording waits a limited time for each answer.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../push/push.h"
#include "record.h"
#include "../../util/log.h"
#include "../../util/monotonic.h"

#define SECOND_NS UINT64_C(1000000000)

struct words {
	const char *items[PUSHER_WORDS_MAX];
	size_t count;
};

static void add(struct words *words, const char *option, const char *value)
{
	if (!value)
		return;
	words->items[words->count++] = option;
	words->items[words->count++] = value;
}

/* Nothing but the socket goes to a process of the user. */
static _Noreturn void execute(const struct record_options *options, int socket)
{
	const struct pushing *pushing = &options->push;
	struct words words = {{PUSHER}, 1};

	add(&words, "--to", pushing->url);
	add(&words, "--user", pushing->user);
	add(&words, "--password-file", pushing->password_file);
	add(&words, "--ca-file", pushing->ca_file);
	add(&words, "--spool", options->spool);
	for (size_t i = 0; i < options->labels.count; i++)
		add(&words, "--label", options->labels.items[i]);
	if (dup2(socket, STDIN_FILENO) == STDIN_FILENO && !close_range(STDERR_FILENO + 1, ~0u, 0))
		execv("/proc/self/exe", (char *const *)(uintptr_t)words.items);
	_exit(EXIT_FAILURE);
}

int recording_push_open(struct recording *recording)
{
	struct pusher *pusher = &recording->pusher;
	int pair[2];

	*pusher = (struct pusher){.socket = -1};
	if (!recording->options.push.url)
		return 0;
	if (server_check(recording->options.push.url, &recording->options.labels))
		return EXIT_USAGE;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
		return recording_fail_errno("--push", -errno);
	pusher->pid = fork();
	if (pusher->pid == 0)
		execute(&recording->options, pair[1]);
	close(pair[1]);
	pusher->socket = pair[0];
	return pusher->pid < 0 ? recording_fail_errno("--push", -errno) : 0;
}

/* Takes an answer. False: there is none. */
static bool take(struct pusher *pusher)
{
	char failed;

	if (!pusher->waiting ||
	    recv(pusher->socket, &failed, sizeof(failed), MSG_DONTWAIT) != sizeof(failed))
		return false;
	pusher->waiting--;
	pusher->failed |= failed != 0;
	return true;
}

void recording_push(struct recording *recording, const char *path)
{
	struct pusher *pusher = &recording->pusher;

	if (pusher->socket < 0 || !path)
		return;
	while (take(pusher))
		;
	if (send(pusher->socket, path, strlen(path), MSG_DONTWAIT | MSG_NOSIGNAL) < 0)
		log_warning(
			"%s was not pushed, because earlier profiles are still being pushed; use: "
			"gcprof push",
			path);
	else
		pusher->waiting++;
}

/* Waits for the answers. False: there are none for too long, or the process is gone. */
static bool await_answers(struct pusher *pusher, uint64_t seconds)
{
	struct pollfd answers = {.fd = pusher->socket, .events = POLLIN};
	uint64_t end = monotonic_ns() + seconds * SECOND_NS, now;

	while (pusher->waiting) {
		if (take(pusher)) {
			end = monotonic_ns() + seconds * SECOND_NS;
			continue;
		}
		now = monotonic_ns();
		if (now >= end) {
			log_error("the last %u were not pushed within %u s each", pusher->waiting,
				  (unsigned)seconds);
			return false;
		}
		if (poll(&answers, 1, (int)((end - now) / 1000000 + 1)) > 0 &&
		    !(answers.revents & POLLIN))
			return false;
	}
	return true;
}

int recording_push_close(struct recording *recording)
{
	struct pusher *pusher = &recording->pusher;
	sigset_t all;
	bool safe;

	if (pusher->socket < 0)
		return 0;
	/* The profile is complete: signals may now end this process. */
	sigfillset(&all);
	sigprocmask(SIG_UNBLOCK, &all, NULL);
	safe = await_answers(pusher, recording->options.push.seconds) && !pusher->failed;
	close(pusher->socket);
	/* It ends by itself; in any case it ends with us. */
	if (!safe)
		kill(pusher->pid, SIGKILL);
	if (safe)
		return 0;
	log_error("not every profile was pushed; the files are kept, and gcprof push pushes them");
	return EXIT_FAILURE;
}
