/* SPDX-License-Identifier: BSD-2-Clause */
/* spawn.c: executes this program afresh without waiting for the new process. */
#include "spawn.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "../util/priority.h"
#include "protocol.h"

#define USERS_FIRST 1879048192u
#define USERS       268435456u
#define PIDS        (1u << 22) /* more than any process number */

/* errno belongs to the parent's thread, which runs concurrently. */
static inline __attribute__((always_inline)) long call(long number, long a, long b, long c)
{
	__asm__ volatile("syscall"
			 : "+a"(number)
			 : "D"(a), "S"(b), "d"(c)
			 : "rcx", "r11", "memory");
	return number;
}

/* Runs in the parent's memory, but has its own table of descriptors. */
__attribute__((no_sanitize("address"), no_sanitize("undefined"))) static int become(void *context)
{
	struct spawn *spawn = context;
	long first = WORKER_SOCKET + 1;

	call(SYS_dup2, spawn->socket, WORKER_SOCKET, 0);
	call(SYS_fcntl, WORKER_SOCKET, F_SETFD, 0); /* if the socket already had that number */
#ifdef __SANITIZE_ADDRESS__
	/* Sanitizers print to standard error. */
	call(SYS_close, STDOUT_FILENO, 0, 0);
	first = STDERR_FILENO + 1;
#endif
	call(SYS_close_range, first, ~0u, 0);
	call(SYS_execve, (long)"/proc/self/exe", (long)spawn->arguments, (long)spawn->environment);
	return 1;
}

/* Has a process this user? */
static bool is_used(uid_t user)
{
	DIR *processes = opendir("/proc");
	const struct dirent *entry;
	struct stat status;
	bool used = false;

	while (processes && !used && (entry = readdir(processes)))
		used = entry->d_name[0] >= '1' && entry->d_name[0] <= '9' &&
		       !fstatat(dirfd(processes), entry->d_name, &status, 0) &&
		       status.st_uid == user;
	if (processes)
		closedir(processes);
	return used;
}

static uid_t reader_user;

/* Two recorders have different numbers, unless these are of two pid namespaces. */
static void choose_user(void)
{
	reader_user = USERS_FIRST + (uid_t)getpid() % PIDS;
	for (uid_t round = 1; round < USERS / PIDS && is_used(reader_user); round++)
		reader_user += PIDS;
}

/*
 * The user that the readers of this process become: one of 1879048192 to 2147483647, which no
 * system gives to users or containers, and which no running process has. For root.
 */
static uid_t spawn_reader_user(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, choose_user);
	return reader_user;
}

pid_t spawn_start(struct spawn *spawn, const char *role, int socket, bool hurried)
{
	sigset_t all, before;
	pid_t pid;

	spawn_wait(spawn);
	snprintf(spawn->user, sizeof(spawn->user), WORKER_UID "=%u", (unsigned)spawn_reader_user());
	snprintf(spawn->nice, sizeof(spawn->nice), WORKER_NICE "=%d", priority_usual());
	spawn->arguments[0] = (char *)(uintptr_t)role;
	spawn->environment[0] = spawn->user;
	spawn->environment[1] = hurried ? NULL : spawn->nice;
	spawn->socket = socket;
	atomic_store(&spawn->shares, 1);
	/* No handler may run there. Signals for the recorder's group (Ctrl-C) must not reach it. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	pid = clone(become, spawn->stack + sizeof(spawn->stack),
		    CLONE_VM | CLONE_CHILD_CLEARTID | SIGCHLD, spawn, NULL, NULL, &spawn->shares);
	if (pid < 0) {
		pid = -errno;
		atomic_store(&spawn->shares, 0);
	}
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return pid;
}

void spawn_wait(const struct spawn *spawn)
{
	const struct timespec moment = {.tv_nsec = 200000};

	while (atomic_load(&spawn->shares))
		nanosleep(&moment, NULL);
}
