/* SPDX-License-Identifier: BSD-2-Clause */
/* control.h: what recorders ask for in the control block. */
#ifndef GCPROF_PROVIDER_CONTROL_H
#define GCPROF_PROVIDER_CONTROL_H

#include <stdbool.h>
#include <stdint.h>

#include "probe.h"

/*
 * The combined requests of all recorders: the shortest period, in bytes, and the highest ceiling,
 * in samples a second, so that one that limits itself takes no samples from another; 0: none.
 * Untrusted: other processes wrote them.
 */
struct asked {
	uint64_t period, ceiling, flags;
	bool any_period, any_ceiling; /* one of them wants the provider's own */
};

struct asked control_asked(void);

/* Changes whenever a recorder attaches, leaves, or changes its request. */
static inline uint64_t control_generation(void)
{
	return __atomic_load_n(&gcprof_control.generation, __ATOMIC_ACQUIRE);
}

#endif
