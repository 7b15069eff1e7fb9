/* SPDX-License-Identifier: BSD-2-Clause */
/* ahead.h: current mappings of processes, ahead of what the profile has reached. */
/*
 * A mapping is needed twice: at once for unwind rows, and later, in order of time, for the profile.
 * It is stored once: here, until the profile has it. The current mappings are those of the profile
 * plus these.
 */
#ifndef GCPROF_AHEAD_H
#define GCPROF_AHEAD_H

#include "processes.h"

/* A process mapped something, as reported by the rings. -ENOMEM; -EOVERFLOW as in
 * mappings_add(). */
int ahead_map(struct processes *processes, struct process *process, const struct mapping *mapping);

/* The time order has reached a mapping. Returns its file, 0 if it was not known here. Drops what
 * was mapped until then. */
uint32_t ahead_reach(struct processes *processes, struct process *process,
		     const struct mapping *mapping);

/*
 * All current mappings of a process, for mappings_release(). A child whose fork the profile has not
 * reached has its parent's mappings of that time. -ENOMEM, -EOVERFLOW: the result may be
 * incomplete.
 */
int ahead_view(struct processes *processes, const struct process *process, struct mappings **out);

#endif
