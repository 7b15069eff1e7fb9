/* SPDX-License-Identifier: BSD-2-Clause */
/* left.h: who goes on when a recording ends. */
#ifndef GCPROF_LEFT_H
#define GCPROF_LEFT_H

#include <stddef.h>
#include <stdint.h>

struct processes;
struct session;

struct left {
	uint32_t pid;  /* as /proc calls it here */
	char name[16]; /* as its first thread is called; anything may be in it */
};

/*
 * Processes that were recorded to the end and are still running, once all events are stored and
 * before the session is freed. Puts the first `max` into `out` and returns how many there are.
 */
size_t left_find(const struct session *session, struct processes *processes, struct left *out,
		 size_t max);

#endif
