/* SPDX-License-Identifier: BSD-2-Clause */
/* spawn.c: executes this program afresh without waiting for the new process. */
#include "spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "../util/priority.h"
#include "protocol.h"

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

pid_t spawn_start(struct spawn *spawn, const char *role, int socket, bool hurried)
{
	sigset_t all, before;
	pid_t pid;

	spawn_wait(spawn);
	snprintf(spawn->nice, sizeof(spawn->nice), WORKER_NICE "=%d", priority_usual());
	spawn->arguments[0] = (char *)(uintptr_t)role;
	spawn->environment[0] = hurried ? NULL : spawn->nice;
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
