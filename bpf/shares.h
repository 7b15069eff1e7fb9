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

#ifdef __bpf__

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
