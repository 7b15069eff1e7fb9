/* SPDX-License-Identifier: BSD-2-Clause */
/* left.h: recorded processes that still run when a recording ends. */
#ifndef GCPROF_LEFT_H
#define GCPROF_LEFT_H

#include <stddef.h>
#include <stdint.h>

struct processes;
struct session;

struct left {
	uint32_t pid;  /* as in /proc here */
	char name[16]; /* name of its first thread; may contain anything */
};

/*
 * Processes that were recorded to the end and still run. To be called once all events are stored
 * and before the session is freed. Stores the first `max` in `out`; returns their number.
 */
size_t left_find(const struct session *session, struct processes *processes, struct left *out,
		 size_t max);

#endif
