// SPDX-License-Identifier: BSD-2-Clause
/* serve.c: the process that pushes for a recorder, one profile after the other. */
/*
 * It is this program, executed afresh: it has a socket as standard input, standard output and
 * error, and nothing else of the recorder. It becomes the user who called gcprof, without root's
 * rights, before anything is recorded, so the recorder needs no network. It dies with the recorder.
 */
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "push.h"
#include "../../util/invoker.h"
#include "../../util/log.h"

/* A change of user would undo it, so this comes after it. */
static int die_with(pid_t parent)
{
	if (prctl(PR_SET_PDEATHSIG, SIGKILL))
		return -errno;
	return getppid() == parent ? 0 : -ESRCH;
}

/* The recorder, which made the socket. */
static pid_t find_recorder(void)
{
	struct ucred made = {0};
	socklen_t size = sizeof(made);

	return getsockopt(STDIN_FILENO, SOL_SOCKET, SO_PEERCRED, &made, &size) ? 0 : made.pid;
}

/* `words`: options of gcprof push, with room for a path. */
static _Noreturn void push(const char **words, size_t count, const char *path)
{
	words[count] = "--";
	words[count + 1] = path;
	words[count + 2] = NULL;
	execv("/proc/self/exe", (char *const *)(uintptr_t)words);
	log_error("%s: not pushed: %s", path, strerror(errno));
	_exit(EXIT_FAILURE);
}

/* 0: the server has it, or it is in the spool, so that it is not lost. */
static char push_one(const char **words, size_t count, const char *path)
{
	pid_t self = getpid(), pid = fork();
	int status;

	if (pid == 0) {
		if (die_with(self))
			_exit(EXIT_FAILURE);
		push(words, count, path);
	}
	if (pid < 0 || waitpid(pid, &status, 0) < 0)
		return 1;
	return status && !(WIFEXITED(status) && WEXITSTATUS(status) == EXIT_SPOOLED);
}

static int begin(void)
{
	const char *variable;
	struct invoker user;
	int err = invoker_find(&user, &variable);

	err = err ? err : invoker_become(&user);
	err = err ? err : die_with(find_recorder());
	/* Ctrl-C ends the recording, and this process must survive it to push the last profile. */
	setpgid(0, 0);
	prctl(PR_SET_NAME, PUSHER);
	return err;
}

int pusher_main(int argc, char **argv)
{
	const char *words[PUSHER_WORDS_MAX] = {"gcprof", "push"};
	char path[PATH_MAX + 1];
	size_t count = 2;
	ssize_t n;

	if (argc > PUSHER_WORDS_MAX - 4 || begin())
		return EXIT_FAILURE;
	for (int i = 1; i < argc; i++)
		words[count++] = argv[i];
	while ((n = recv(STDIN_FILENO, path, sizeof(path) - 1, 0)) > 0) {
		char failed;

		path[n] = '\0';
		failed = push_one(words, count, path);
		if (send(STDIN_FILENO, &failed, sizeof(failed), MSG_NOSIGNAL) < 0)
			return EXIT_FAILURE;
	}
	return EXIT_SUCCESS;
}
