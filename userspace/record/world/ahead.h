/* SPDX-License-Identifier: BSD-2-Clause */
/* ahead.h: what processes have mapped by now, where the order of time has not come that far. */
/*
 * A mapping is needed twice: at once, for unwind rows, and later in order of time, for the profile.
 * It is kept once: ahead, until the process has it for the profile. What is mapped now is what the
 * profile knows with that on top.
 */
#ifndef GCPROF_AHEAD_H
#define GCPROF_AHEAD_H

#include "processes.h"

/* A process has mapped something, as the rings report it. -ENOMEM, -EOVERFLOW as mappings_add(). */
int ahead_map(struct processes *processes, struct process *process, const struct mapping *mapping);

/* The order of time has come to a mapping: its file, 0 if it was not known ahead. What was mapped
 * until then is kept no more. */
uint32_t ahead_reach(struct processes *processes, struct process *process,
		     const struct mapping *mapping);

/*
 * All that a process has mapped by now, for mappings_release(). A child of which the profile has no
 * fork yet has what its parent had then. -ENOMEM, -EOVERFLOW: what is there may be incomplete.
 */
int ahead_view(struct processes *processes, const struct process *process, struct mappings **out);

#endif
