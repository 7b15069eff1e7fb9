/* SPDX-License-Identifier: BSD-2-Clause */
/* spawn.h: executes this program afresh without waiting for the new process. */
/*
 * Not fork(): with a recorder's memory that takes milliseconds. Not posix_spawn(): it waits for the
 * exec, which takes tens of milliseconds on a busy machine.
 */
#ifndef GCPROF_READER_SPAWN_H
#define GCPROF_READER_SPAWN_H

#include <stdatomic.h>
#include <stdbool.h>
#include <sys/types.h>

/* The parent's memory that the process uses until it executes. */
struct spawn {
	_Alignas(16) char stack[4096];
	char user[32], nice[32], *arguments[2], *environment[3];
	int socket;
	atomic_int shares; /* cleared by the kernel when it is no longer used */
};

/*
 * Starts the program as `role`, with only its socket. If `hurried`, it keeps the calling thread's
 * nice value. If the exec fails, its socket is closed. Returns its pid or a negative errno.
 */
pid_t spawn_start(struct spawn *spawn, const char *role, int socket, bool hurried);

/* Waits until `spawn` may be freed; a short time if the process was killed. */
void spawn_wait(const struct spawn *spawn);

#endif
