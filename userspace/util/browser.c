/* SPDX-License-Identifier: BSD-2-Clause */
/* browser.c: opens an address in the user's browser. */
#include "browser.h"

#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "log.h"

/* Started by sudo, the environment may name a home that is not this user's. */
static void correct_home(void)
{
	const char *home = getenv("HOME");
	const struct passwd *user = getpwuid(getuid());

	if (user && (!home || access(home, W_OK) < 0))
		setenv("HOME", user->pw_dir, 1);
}

static int start(const char *program, const char *address, pid_t *pid)
{
	char *const words[] = {(char *)program, (char *)address, NULL};
	posix_spawn_file_actions_t files;
	posix_spawnattr_t attributes;
	sigset_t none, all;
	int err;

	sigemptyset(&none);
	sigfillset(&all);
	posix_spawnattr_init(&attributes);
	posix_spawnattr_setsigmask(&attributes, &none);
	posix_spawnattr_setsigdefault(&attributes, &all);
	posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
	posix_spawn_file_actions_init(&files);
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		posix_spawn_file_actions_addopen(&files, fd, "/dev/null", O_RDWR, 0);
	err = posix_spawnp(pid, program, &files, &attributes, words, environ);
	posix_spawn_file_actions_destroy(&files);
	posix_spawnattr_destroy(&attributes);
	return -err;
}

/* Starts a browser; *name is its program, within `list`, which is cut. */
static int start_any(char *list, const char *address, const char **name, pid_t *pid)
{
	int err = -ENOENT;

	while (err && (*name = strsep(&list, ":")))
		if (**name)
			err = start(*name, address, pid);
	if (!err)
		return 0;
	*name = "xdg-open";
	return start(*name, address, pid);
}

/* The process that waits; reports through `report` whether a browser has started. */
static void attend(const char *address, int report)
{
	const char *variable = getenv("BROWSER"), *name = NULL;
	char *list = strdup(variable ? variable : "");
	pid_t pid;
	int err, status;

	setsid();
	signal(SIGCHLD, SIG_DFL);
	correct_home();
	err = list ? start_any(list, address, &name, &pid) : -ENOMEM;
	if (write(report, &err, sizeof(err)) < 0 || err)
		_exit(EXIT_FAILURE);
	/* The connection of a page must not keep a port open that gcprof has closed. */
	close_range(STDERR_FILENO + 1, ~0U, 0);
	if (waitpid(pid, &status, 0) == pid && status != 0)
		log_warning("%s has failed; open the address yourself, or set BROWSER to the name "
			    "of your browser",
			    name);
	_exit(EXIT_SUCCESS);
}

int browser_open(const char *address)
{
	int ends[2], err = -EIO;
	pid_t child;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return -errno;
	/* Nobody waits for the child. */
	signal(SIGCHLD, SIG_IGN);
	child = fork();
	if (child == 0)
		attend(address, ends[1]);
	if (child < 0)
		err = -errno;
	close(ends[1]);
	if (child > 0 && read(ends[0], &err, sizeof(err)) != sizeof(err))
		err = -EIO;
	close(ends[0]);
	return err;
}
