// SPDX-License-Identifier: BSD-2-Clause
/* running.c: running programs to be recorded: found, checked, waited for. */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../../util/proc_file.h"
#include "running.h"
#include "../machine/viewer.h"
#include "../../util/log.h"
#include "../../util/options.h"

#define COMMAND_MAX      65536      /* kept bytes of a command line */
#define KERNEL_THREAD    0x00200000 /* in the flags of /proc/PID/stat */
#define STAT_FIELD_FLAGS 9

/* The number after a label in /proc/PID/status. */
static long status_number(const char *status, const char *label)
{
	const char *at = strstr(status, label);

	return at ? strtol(at + strlen(label), NULL, 10) : -1;
}

/* The letter of its state; ' ' if the file has none. */
static char status_state(const char *status)
{
	const char *at = strstr(status, "\nState:");

	if (!at)
		return ' ';
	at += strlen("\nState:");
	return at[strspn(at, " \t")];
}

static bool is_kernel_thread(pid_t pid)
{
	const char *flags;
	char stat[1024];

	if (proc_file_read(pid, "stat", stat, sizeof(stat)))
		return false;
	flags = proc_file_stat(stat, STAT_FIELD_FLAGS);
	return flags && strtoul(flags, NULL, 10) & KERNEL_THREAD;
}

static int refuse_owner(pid_t pid, long uid, struct problem *problem)
{
	const struct passwd *entry = getpwuid((uid_t)uid);

	if (geteuid() == 0)
		return problem_set(problem, -EPERM,
				   "process %d may not be inspected, not even by this root: it has "
				   "rights that gcprof lacks, as outside of a container",
				   pid);
	return problem_set(problem, -EPERM,
			   "process %d belongs to %s: only root may record it\nTry 'sudo gcprof "
			   "record -p %d'.",
			   pid, entry ? entry->pw_name : "another user", pid);
}

static int check(pid_t pid, struct problem *problem)
{
	char status[4096];
	long group, owner;
	int maps;

	if (pid == getpid())
		return problem_set(problem, -EINVAL, "process %d is gcprof itself", pid);
	if (proc_file_read(pid, "status", status, sizeof(status)))
		return problem_set(problem, -ESRCH, "there is no process %d", pid);
	group = status_number(status, "\nTgid:");
	owner = status_number(status, "\nUid:");
	if (group != pid)
		return problem_set(problem, -EINVAL,
				   "%d is a thread of process %ld: all threads of a process are "
				   "recorded together\nTry 'gcprof record -p %ld'.",
				   pid, group, group);
	if (!proc_living_thread(pid))
		return problem_set(problem, -ESRCH,
				   "process %d has ended already; its parent has not taken notice "
				   "(a zombie)",
				   pid);
	if (is_kernel_thread(pid))
		return problem_set(problem, -EINVAL,
				   "%d is a thread of the kernel, not a program (--system records "
				   "them, too)",
				   pid);
	/* Reading it could wait for the process. */
	maps = proc_shown_open((uint32_t)pid, "maps", O_RDONLY);
	if (maps >= 0)
		close(maps);
	if (maps == -ESRCH || maps == -ENOENT)
		return problem_set(problem, -ESRCH, "there is no process %d", pid);
	return maps < 0 ? refuse_owner(pid, owner, problem) : 0;
}

#define PID_BLANKS " \t\n"

/* The next number of the list, which commas or blanks separate; false if there is none where one is
 * required. */
static bool next_pid(const char **list, pid_t *out)
{
	char word[16];
	size_t length = strcspn(*list += strspn(*list, PID_BLANKS), PID_BLANKS ",");
	uint64_t value;

	if (length >= sizeof(word))
		return false;
	memcpy(word, *list, length);
	word[length] = '\0';
	if (parse_number(word, &value) || !value || value > INT32_MAX)
		return false;
	*out = (pid_t)value;
	*list += length;
	*list += strspn(*list, PID_BLANKS);
	if (**list == ',')
		++*list;
	else if (!**list)
		*list = NULL;
	return true;
}

static bool running_is_known(const struct running *running, pid_t pid)
{
	for (size_t i = 0; i < running->count; i++)
		if (running->pids[i] == pid)
			return true;
	return false;
}

/* The descriptor comes first, so that later checks are about the process that it refers to. */
static int running_add(struct running *running, pid_t pid, struct problem *problem)
{
	int fd, err;

	if (running_is_known(running, pid))
		return 0;
	if (running->count == RUNNING_MAX)
		return problem_set(problem, -E2BIG, "more than %d processes", RUNNING_MAX);
	fd = (int)syscall(SYS_pidfd_open, pid, 0);
	err = check(pid, problem);
	if (!err && fd < 0)
		err = problem_set(problem, -errno, "process %d: %s", pid, strerror(errno));
	if (err) {
		if (fd >= 0)
			close(fd);
		return err;
	}
	running->pids[running->count] = pid;
	running->pidfds[running->count++] = fd;
	return 0;
}

/* As many descriptors as possible: one for each process and file. No program will inherit the
 * limit. */
static void allow_descriptors(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit))
		return;
	limit.rlim_cur = limit.rlim_max;
	(void)setrlimit(RLIMIT_NOFILE, &limit);
}

int running_open(const char *list, struct running *out, struct problem *problem)
{
	const char *rest = list;
	pid_t pid;
	int err = 0;

	out->count = out->gone = 0;
	allow_descriptors();
	while (rest && !err) {
		if (!next_pid(&rest, &pid))
			return problem_set(problem, -EINVAL,
					   "-p %s: not a list of process numbers such as 12,345",
					   list);
		err = running_add(out, pid, problem);
		if (err != -ESRCH)
			continue;
		out->gone++;
		err = 0;
	}
	return err || out->count ? err : -ESRCH;
}

void running_close(struct running *running)
{
	for (size_t i = 0; i < running->count; i++)
		close(running->pidfds[i]);
	running->count = 0;
}

bool running_is_stopped(pid_t pid)
{
	char status[4096];

	if (proc_file_read(pid, "status", status, sizeof(status)))
		return false;
	return strchr("Tt", status_state(status)) != NULL;
}

size_t running_children(const struct running *running, pid_t *out, size_t max)
{
	size_t count = 0;

	for (size_t i = 0; i < running->count; i++) {
		char name[40], text[4096], *at = text, *end;
		pid_t child;

		snprintf(name, sizeof(name), "task/%d/children", running->pids[i]);
		if (proc_file_read(running->pids[i], name, text, sizeof(text)))
			continue;
		for (; (child = (pid_t)strtol(at, &end, 10)) > 0; at = end) {
			if (running_is_known(running, child) || child == getpid() ||
			    child == getppid())
				continue;
			if (count < max)
				out[count] = child;
			count++;
		}
	}
	return count;
}

void running_name(pid_t pid, char out[16])
{
	if (proc_file_read(pid, "comm", out, 16))
		out[0] = '\0';
	out[strcspn(out, "\n")] = '\0';
}

int running_command(pid_t pid, char **text, size_t *size)
{
	ssize_t n;

	*size = 0;
	*text = malloc(COMMAND_MAX + 1);
	if (!*text)
		return -ENOMEM;
	n = viewer_read_command(pid, *text, COMMAND_MAX);
	if (n < 0) {
		if (n == -ETIME)
			log_warning("process %d: its command line is not in the profile: its "
				    "memory does not answer",
				    pid);
		free(*text);
		*text = NULL;
		return -ENOENT;
	}
	*size = (size_t)n;
	(*text)[*size] = '\0';
	return 0;
}
