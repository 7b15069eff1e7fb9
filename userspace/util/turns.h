/* SPDX-License-Identifier: BSD-2-Clause */
/* turns.h: a queue in which users take turns: next is the one who was served least. */
#ifndef GCPROF_TURNS_H
#define GCPROF_TURNS_H

#include <stddef.h>
#include <stdint.h>

#include "array.h"

/* Part of what waits; its first member. */
struct turn {
	struct turn *next;
	uint32_t user;
};

struct turns_user;

struct turns {
	size_t waiting;
	ARRAY(struct turns_user) users;
};

/* Appends to what waits for this user. -ENOMEM. */
int turns_put(struct turns *turns, struct turn *turn, uint32_t user);

/* The next one, without removing it, and with it; NULL: nothing waits. */
struct turn *turns_first(const struct turns *turns);
struct turn *turns_take(struct turns *turns);

/* Serving this user has taken so long, or cost so much. */
void turns_charge(struct turns *turns, uint32_t user, uint64_t cost);

/* Iterates over all that wait, in any order; NULL at the end. Start with NULL. */
struct turn *turns_next(const struct turns *turns, const struct turn *last);

void turns_free(struct turns *turns);

#endif
