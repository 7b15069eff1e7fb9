/* SPDX-License-Identifier: BSD-2-Clause */
/* spawn.h: executes this program afresh, without waiting for the new process to get a CPU. */
/*
 * Not fork(): with a recorder's memory that takes milliseconds. Not posix_spawn(): it waits until
 * the process executes, which on a busy machine is tens of milliseconds.
 */
#ifndef GCPROF_READER_SPAWN_H
#define GCPROF_READER_SPAWN_H

#include <stdatomic.h>
#include <stdbool.h>
#include <sys/types.h>

/* What a process uses of its parent's memory until it executes. */
struct spawn {
	_Alignas(16) char stack[4096];
	char nice[32], *arguments[2], *environment[2];
	int socket;
	atomic_int shares; /* the kernel clears it when it does not use it any more */
};

/*
 * Starts it as `role`, with its socket and nothing else; `hurried`: it keeps the calling thread's
 * niceness. If it cannot execute, its socket is closed. Its pid or a negative errno.
 */
pid_t spawn_start(struct spawn *spawn, const char *role, int socket, bool hurried);

/* Waits until `spawn` may be freed: not for long if the process was killed. */
void spawn_wait(const struct spawn *spawn);

#endif
