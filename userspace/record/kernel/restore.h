/* SPDX-License-Identifier: BSD-2-Clause */
/* restore.h: a stopped program's copy of code gets its original instructions, without breakpoints.
 */
#ifndef GCPROF_RESTORE_H
#define GCPROF_RESTORE_H

#include <stdint.h>

#define RESTORE_MAX 1024

/* A process that is stopped or will be, and what belongs into its code. */
struct restore_request {
	uint32_t pid, count;
	uint64_t since; /* the process exists, CLOCK_MONOTONIC ns */
	uint64_t addresses[RESTORE_MAX];
	unsigned char code[RESTORE_MAX];
};

/* Lets it go on. */
void restore_continue(const struct restore_request *request);

/* In the attacher: waits until the process is stopped, restores its code, and lets it go on. The
 * number of breakpoints removed, or a negative errno. */
int restore_code(const struct restore_request *request);

#endif
