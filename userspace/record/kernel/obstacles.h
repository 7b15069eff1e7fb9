/* SPDX-License-Identifier: BSD-2-Clause */
/* obstacles.h: programs that keep the kernel waiting while probes are attached, and what is said.
 */
#ifndef GCPROF_OBSTACLES_H
#define GCPROF_OBSTACLES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../../util/buffer.h"
#include "../../util/problem.h"

#define LOCKED_MAX 64 /* programs that are named; more are left out */

/* All programs whose map stays locked for 30 ms, as uint32_t[]. Waits that long if there are any.
 * -ENOMEM: some may be missing. */
int locked_for_long(int iterator, struct buffer *pids);

struct obstacles {
	int iterator;                  /* for locked_find() */
	uint64_t began;                /* of the request, ns */
	bool late;                     /* it takes too long, and a message said so */
	uint32_t suspects[LOCKED_MAX]; /* locked at each check since then */
	size_t n_suspects;
	uint64_t next_check; /* ns */
	uint32_t busy;       /* the last program that was in the way before a request; 0: none */
	uint64_t busy_since; /* ns; 0: a message has named it */
};

/* A request begins. */
void obstacles_begin(struct obstacles *obstacles);

/* Has the request taken `ns`? Until then, checks from time to time which program is in the way. */
bool obstacles_exceed(struct obstacles *obstacles, uint64_t ns);

/* Has a program been in the way at all checks of a request that has taken `ns`? */
bool obstacles_hold(const struct obstacles *obstacles, uint64_t ns);

/* A sentence about `what` not being done in time: -ETIME. */
int obstacles_late(struct obstacles *obstacles, const char *what, struct problem *problem);

/* This program was in the way: after a second a sentence says that `what` is not attached to. */
void obstacles_busy(struct obstacles *obstacles, uint32_t pid, const char *what,
		    struct problem *problem);

#endif
