/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/* shares.h: divides the entries of a table among users: each may have three times what is left. */
#ifndef GCPROF_SHARES_H
#define GCPROF_SHARES_H

#ifndef __bpf__
#include <stdint.h>
#endif

#define SHARE_OWNERS 256 /* users with the same hash share an index */

/* Entries of a table that users share. */
struct shares {
	uint32_t used; /* by all */
	uint32_t of[SHARE_OWNERS];
};

#define USER_RANGES 64

/* Numbers of users that belong to another one, who can take them in a user namespace and in files
 * (subuid(5)). */
struct user_range {
	uint32_t first, count, owner;
};

#ifdef __bpf__

/* Set before loading. */
const volatile struct user_range user_ranges[USER_RANGES];
const volatile uint32_t n_user_ranges = 0;

/* Who pays for what this user takes. */
__noinline uint32_t user_payer(uint32_t user)
{
	for (uint32_t i = 0; i < USER_RANGES && i < n_user_ranges; i++)
		if (user - user_ranges[i].first < user_ranges[i].count)
			return user_ranges[i].owner;
	return user;
}

/* The index of a user in struct shares. */
static __always_inline uint32_t share_owner(uint32_t user)
{
	return user * 2654435761u >> 24;
}

/* May the owner have one more entry, of at most `max`? It is counted then. */
static __always_inline bool share_take(volatile struct shares *shares, uint32_t owner, uint32_t max)
{
	uint32_t used = shares->used;

	owner &= SHARE_OWNERS - 1; /* for the verifier */
	if (used >= max || shares->of[owner] >= 3 * (max - used))
		return 0;
	__sync_fetch_and_add(&shares->used, 1);
	__sync_fetch_and_add(&shares->of[owner], 1);
	return 1;
}

static __always_inline void share_return(volatile struct shares *shares, uint32_t owner)
{
	owner &= SHARE_OWNERS - 1;
	__sync_fetch_and_sub(&shares->used, 1);
	__sync_fetch_and_sub(&shares->of[owner], 1);
}

#endif

#endif
