/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/* ceiling.h: limits how many events of a kind get records, per second and CPU. */
#ifndef GCPROF_CEILING_H
#define GCPROF_CEILING_H

#include "emit.h"
#include "shares.h"

#define CEILING_BURST_NS     134217728 /* the longest credit of a CPU */
#define CEILING_HALVINGS_MAX 24

/* Takes one token from the bucket. */
static __always_inline void ceiling_pass(struct ceiling_state *state, uint32_t rate, uint64_t now)
{
	if (state->next + CEILING_BURST_NS < now)
		state->next = now - CEILING_BURST_NS;
	state->next += 1000000000 / rate;
	state->passed = now;
}

/*
 * May one more event be recorded on this CPU? `rate` is per second. A bucket of tokens, represented
 * by the time of the next allowed event, which lags behind by the accumulated credit. After a
 * burst, allowed events are evenly spaced, so that each stands for equally many refused ones.
 */
static __always_inline bool ceiling_below(enum ceiling ceiling, uint32_t rate, uint64_t now)
{
	uint32_t key = ceiling;
	struct ceiling_state *state = bpf_map_lookup_elem(&ceilings, &key);

	if (!state || !rate || state->next > now)
		return 0;
	ceiling_pass(state, rate, now);
	return 1;
}

/* Of each user, per CPU: earliest time of the next record in a ring that is filling up, ns. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_PERCPU_HASH);
	__uint(max_entries, 1024);
	__type(key, uint32_t);
	__type(value, uint64_t);
} user_shares SEC(".maps");

/* May this user put a record of `bytes` into a ring that is filling up? In 134 ms a 64th of it per
 * CPU. Global: the verifier checks it once. */
__noinline int ceiling_user_share(uint64_t ring_bytes, uint64_t bytes, uint64_t now)
{
	uint32_t user = user_payer(bpf_get_current_uid_gid());
	uint64_t *next = bpf_map_lookup_elem(&user_shares, &user);

	if (!next) {
		bpf_map_update_elem(&user_shares, &user, &now, BPF_NOEXIST);
		next = bpf_map_lookup_elem(&user_shares, &user);
	}
	if (!next || *next > now)
		return 0;
	if (*next + CEILING_BURST_NS < now)
		*next = now - CEILING_BURST_NS;
	*next += bytes * CEILING_BURST_NS / (ring_bytes / 64 + 1);
	return 1;
}

/* The same while less than three quarters of the ring are in use: anybody may. */
static __always_inline bool ceiling_has_room(void *ring, uint64_t bytes, uint64_t now)
{
	uint64_t size = bpf_ringbuf_query(ring, BPF_RB_RING_SIZE);

	return bpf_ringbuf_query(ring, BPF_RB_AVAIL_DATA) < size / 4 * 3 ||
	       ceiling_user_share(size, bytes, now);
}

/*
 * The same with a random choice, for events whose records must say how many they stand for: a
 * choice by time would prefer events after pauses. Returns the number of events represented,
 * including this one; 0: refused. Each allowed event that overdraws the bucket, and comes sooner
 * than the rate allows, halves the probability. Whenever half a bucket has accumulated, it doubles.
 */
static __always_inline uint32_t ceiling_draw(enum ceiling ceiling, uint32_t rate, uint64_t now)
{
	uint32_t key = ceiling, stands;
	struct ceiling_state *state = bpf_map_lookup_elem(&ceilings, &key);

	if (!state || !rate)
		return 0;
	if (state->halvings && state->next + CEILING_BURST_NS / 2 < now) {
		state->halvings--;
		state->next += CEILING_BURST_NS / 4;
	}
	stands = 1u << (state->halvings & 31);
	/* A linear congruential generator, stirred with the time: a helper's call would be felt. */
	state->random = (state->random + now) * 6364136223846793005 + 1442695040888963407;
	if ((state->random >> 32) & (stands - 1))
		return 0;
	if (state->next > now && now - state->passed < 1000000000 / rate &&
	    state->halvings < CEILING_HALVINGS_MAX)
		state->halvings++;
	ceiling_pass(state, rate, now);
	return stands;
}

#define SHARE_BYTE_NS 128 /* 7.8 MB a second */

/*
 * May the process put a record of `bytes` into a shared ring? Always while less than half of the
 * ring is in use. Beyond that the process has a bucket as above, counted in bytes, so that one
 * process that floods the ring leaves the other half to the others. The last quarter is divided
 * among users.
 */
static __always_inline bool ceiling_share(void *ring, uint32_t process, uint64_t bytes,
					  uint64_t now)
{
	struct process_state *state;
	uint64_t until;

	if (bpf_ringbuf_query(ring, BPF_RB_AVAIL_DATA) <
	    bpf_ringbuf_query(ring, BPF_RB_RING_SIZE) / 2)
		return 1;
	state = bpf_map_lookup_elem(&processes, &process);
	if (!state)
		return 0;
	until = *(volatile uint64_t *)&state->share;
	if (until > now)
		return 0;
	if (until + CEILING_BURST_NS < now)
		state->share = now - CEILING_BURST_NS;
	__sync_fetch_and_add(&state->share, bytes * SHARE_BYTE_NS);
	return ceiling_has_room(ring, bytes, now);
}

/*
 * ceiling_below() for kinds of events that no program causes more often in earnest than
 * config.rare_rate (50,000); counts refused events as `loss`.
 */
static __always_inline bool ceiling_keeps(enum ceiling ceiling, uint64_t now, uint32_t loss)
{
	if (ceiling_below(ceiling, config.rare_rate, now))
		return 1;
	loss_count(loss);
	return 0;
}

/* The same for a record of `bytes` in the ring of processes. */
static __always_inline bool ceiling_keeps_process(enum ceiling ceiling, uint64_t bytes,
						  uint64_t now, uint32_t loss)
{
	if (!ceiling_keeps(ceiling, now, loss))
		return 0;
	if (ceiling_has_room(&ring_process, bytes, now))
		return 1;
	loss_count(LOSS_PROCESS_RING);
	return 0;
}

#endif
