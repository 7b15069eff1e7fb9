/* SPDX-License-Identifier: BSD-2-Clause */
/* libraries.c: finds the files that a program will load. */
/*
 * Files are opened as the program's user: the recorder must not help that user to read more.
 *
 * Only the dynamic linker that the program names knows all its rules (rpath, caches, hardware
 * variants, LD_LIBRARY_PATH). It is therefore asked, with `--list`.
 */
#include "libraries.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agents.h"
#include "../../util/buffer.h"
#include "../../util/priority.h"
#include "../../runtimes/runtime.h"
#include "../machine/clock.h"

#define END_NS UINT64_C(1000000000) /* for the linker, after its output */

enum {
	SCRIPT_DEPTH = 4,         /* interpreters that are scripts themselves */
	SCRIPT_LINE = 256,        /* as much as the kernel reads */
	LIST_BYTES_MAX = 1 << 18, /* of the linker's output */
	LIST_MS_MAX = 3000,
};

/* The interpreter of a script: 1 and `path` replaced; 0 if it is not a script. */
static int script_interpreter(int fd, char path[PATH_MAX])
{
	char line[SCRIPT_LINE + 1];
	ssize_t n = pread(fd, line, SCRIPT_LINE, 0);
	char *start;

	if (n < 2 || line[0] != '#' || line[1] != '!')
		return 0;
	line[n] = '\0';
	start = line + 2 + strspn(line + 2, " \t");
	start[strcspn(start, " \t\r\n")] = '\0';
	if (!*start)
		return -ENOEXEC;
	strcpy(path, start);
	return 1;
}

struct libraries {
	struct opener *opener;
	struct invoker user;
	char program[PATH_MAX]; /* the file that is run, not a script */
	pid_t linker;           /* running; 0: none */
	int output;             /* its output; -1: none */
	bool refused;           /* it did not preload this: */
	struct added_variable preload;
};

static _Noreturn void linker_run(const char *linker, const struct libraries *libraries, int output)
{
	int null = open("/dev/null", O_RDWR);
	char program[PATH_MAX];

	priority_restore();
	/* From the change of user on, others can stop this process: it keeps nothing of the
	 * recorder, and dies with it. */
	if (null < 0 || dup2(null, 0) < 0 || dup2(null, 2) < 0 || dup2(output, 1) < 0 ||
	    close_range(STDERR_FILENO + 1, ~0u, 0) || invoker_become(&libraries->user) ||
	    prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) ||
	    (libraries->preload.name && target_add_variable(&libraries->preload)))
		_exit(127);
	/* $ORIGIN is where the program is, and not a link to it. */
	execl(linker, linker, "--list",
	      realpath(libraries->program, program) ? program : libraries->program, (char *)NULL);
	_exit(127);
}

/* Reads until the end, or the limit of bytes or time. */
static int read_bounded(int fd, struct buffer *text)
{
	uint64_t end = clock_now() + LIST_MS_MAX * UINT64_C(1000000);
	char block[4096];

	while (text->size < LIST_BYTES_MAX) {
		uint64_t now = clock_now();
		struct pollfd wait = {.fd = fd, .events = POLLIN};
		ssize_t n;

		if (now >= end || poll(&wait, 1, (int)((end - now) / 1000000 + 1)) == 0)
			return -ETIMEDOUT;
		n = read(fd, block, sizeof(block));
		if (n == 0)
			return 0;
		if (n < 0 && errno != EINTR)
			return -errno;
		if (n > 0 && buffer_append(text, block, (size_t)n))
			return -ENOMEM;
	}
	return -E2BIG;
}

static int start_linker(struct libraries *libraries, const char *linker)
{
	int output[2], err = 0;

	if (pipe2(output, O_CLOEXEC))
		return -errno;
	libraries->linker = fork();
	if (libraries->linker == 0)
		linker_run(linker, libraries, output[1]);
	if (libraries->linker < 0) {
		err = -errno;
		libraries->linker = 0;
	}
	libraries->output = output[0];
	close(output[1]);
	return err;
}

/* Whether it succeeded. Its output has ended or is not wanted, but a linker of the user's own may
 * go on: it gets a second, or nothing with `at_once`. */
static bool end_linker(struct libraries *libraries, bool at_once)
{
	uint64_t end = clock_now() + END_NS;
	pid_t ended = 0;
	int status = 0;

	while (libraries->linker && !at_once && !ended && clock_now() < end) {
		ended = waitpid(libraries->linker, &status, WNOHANG);
		if (!ended)
			usleep(200);
	}
	if (libraries->linker && !ended) {
		kill(libraries->linker, SIGKILL);
		while (waitpid(libraries->linker, &status, 0) < 0 && errno == EINTR)
			;
	}
	libraries->linker = 0;
	return !status;
}

/* The linker's output is under the control of the user's program. */
static void visit_file(struct libraries *libraries, const char *path, libraries_visit *visit,
		       void *context)
{
	int fd = opener_open_user(libraries->opener, path, &libraries->user, NULL);

	if (fd < 0)
		return;
	visit(context, path, fd);
	close(fd);
}

/* Lines like "\tlibc.so.6 => /lib/libc.so.6 (0x7f...)" or "\t/lib/ld.so (0x7f...)". A path may be
 * relative, as in LD_LIBRARY_PATH: the linker and the program have the same working directory. */
static void visit_lines(struct libraries *libraries, char *text, libraries_visit *visit,
			void *context)
{
	char *rest = text, *line;

	while ((line = strsep(&rest, "\n"))) {
		char *arrow = strstr(line, " => ");
		char *path = arrow ? arrow + 4 : line + strspn(line, " \t");
		char *end = strstr(path, " (0x");

		if (!end)
			continue;
		*end = '\0';
		if (!strcmp(path, libraries->preload.text))
			libraries->refused = false;
		else if (strchr(path, '/')) /* the vDSO has none */
			visit_file(libraries, path, visit, context);
	}
}

/* Follows interpreters of scripts. Returns a descriptor of the file that is finally run. */
static int find_program(struct libraries *libraries)
{
	char *path = libraries->program;

	for (int depth = 0; depth <= SCRIPT_DEPTH; depth++) {
		int fd = opener_open_user(libraries->opener, path, &libraries->user, NULL), found;

		if (fd < 0)
			return fd;
		found = script_interpreter(fd, path);
		if (!found)
			return fd;
		close(fd);
		if (found < 0)
			return found;
	}
	return -ELOOP;
}

/* Did root or the user choose what this file says, and nobody else? */
static bool is_trusted(int fd, const struct invoker *user)
{
	struct stat status;

	return !fstat(fd, &status) && (status.st_uid == 0 || status.st_uid == user->uid) &&
	       !(status.st_mode & (S_IWGRP | S_IWOTH));
}

int libraries_start(const char *path, bool runs, const struct added_variable *preload,
		    const struct invoker *user, struct opener *opener, struct files *files,
		    struct libraries **out)
{
	struct libraries *libraries = calloc(1, sizeof(*libraries));
	const struct file *file;
	int fd = -1, err = -ENAMETOOLONG;

	if (!libraries)
		return -ENOMEM;
	libraries->opener = opener;
	libraries->user = *user;
	libraries->output = -1;
	if (strlen(path) >= sizeof(libraries->program))
		goto out;
	if (preload)
		libraries->preload = *preload;
	strcpy(libraries->program, path);
	err = fd = find_program(libraries);
	if (fd < 0)
		goto out;
	file = files_read(files, fd, geteuid());
	runs = runs || is_trusted(fd, user);
	err = file && runs && file->state == FILE_KNOWN && file->facts.interpreter[0]
		      ? start_linker(libraries, file->facts.interpreter)
		      : 0;
out:
	if (fd >= 0)
		close(fd);
	if (err) {
		libraries_free(libraries);
		return err;
	}
	*out = libraries;
	return 0;
}

/* Libraries that the linker does not know, because the program opens them itself: those of
 * runtimes, beside the real location of the program. */
static void visit_runtimes(struct libraries *libraries, libraries_visit *visit, void *context)
{
	int fd = opener_open_user(libraries->opener, libraries->program, &libraries->user, NULL);
	char link[32], path[PATH_MAX];
	ssize_t size;

	if (fd < 0)
		return;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	size = readlink(link, path, sizeof(path) - 1);
	close(fd);
	if (size <= 0)
		return;
	path[size] = '\0';
	for (uint32_t i = 1; i < RUNTIMES; i++) {
		const struct runtime *runtime = runtime_get(i);
		char *slash = strrchr(path, '/');

		if (!runtime || !runtime->library || !slash)
			continue;
		snprintf(slash + 1, sizeof(path) - (size_t)(slash + 1 - path), "%s",
			 runtime->library);
		visit_file(libraries, path, visit, context);
		slash[1] = '\0';
	}
}

int libraries_visit_all(struct libraries *libraries, libraries_visit *visit, void *context)
{
	struct buffer text = {0};
	bool succeeded;
	int err = 0;

	visit_file(libraries, libraries->program, visit, context);
	visit_runtimes(libraries, visit, context);
	if (libraries->output >= 0)
		err = read_bounded(libraries->output, &text);
	succeeded = end_linker(libraries, err != 0);
	libraries->refused = libraries->preload.name && libraries->output >= 0 && !err;
	if (buffer_append(&text, "", 1) == 0)
		visit_lines(libraries, text.data, visit, context);
	libraries->refused |= !err && !succeeded && libraries->preload.name;
	buffer_free(&text);
	return err;
}

bool libraries_refused(const struct libraries *libraries)
{
	return libraries->refused;
}

void libraries_free(struct libraries *libraries)
{
	if (!libraries)
		return;
	end_linker(libraries, true);
	if (libraries->output >= 0)
		close(libraries->output);
	free(libraries);
}
