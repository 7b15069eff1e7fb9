/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/* ceiling.h: how many events of a kind are recorded one by one, a second and CPU. */
#ifndef GCPROF_CEILING_H
#define GCPROF_CEILING_H

#include "emit.h"

#define CEILING_BURST_NS 134217728 /* what a CPU may have saved up */

/*
 * May one more be recorded on this CPU? `rate`: so many a second. A bucket of
 * tokens, kept as the time from which on the next may pass; that lags behind by
 * what was saved up. After a burst those that pass lie evenly apart, so that each
 * stands for as many of those that do not.
 */
static __always_inline bool ceiling_below(enum ceiling ceiling, uint32_t rate, uint64_t now)
{
	uint32_t key = ceiling;
	uint64_t *next = bpf_map_lookup_elem(&ceilings, &key);

	if (!next || !rate || *next > now)
		return 0;
	if (*next + CEILING_BURST_NS < now)
		*next = now - CEILING_BURST_NS;
	*next += 1000000000 / rate;
	return 1;
}

/*
 * The same for what no program does as often in earnest as config.rare_rate says (50,000), and
 * what is left out above that, which is counted.
 */
static __always_inline bool ceiling_keeps(enum ceiling ceiling, uint64_t now, uint32_t loss)
{
	if (ceiling_below(ceiling, config.rare_rate, now))
		return 1;
	loss_count(loss);
	return 0;
}

#endif
