/* SPDX-License-Identifier: BSD-2-Clause */
/* joins.h: since when the providers of existing programs know of this recorder. */
/*
 * Such a program may have reported its stacks to another recorder. Samples that refer to them are
 * left out until the opener has registered this recorder (gc/provider/frame.h). That time becomes
 * known a moment later; samples wait for it. Not thread-safe.
 */
#ifndef GCPROF_JOINS_H
#define GCPROF_JOINS_H

#include "processes.h"

/* The opener is asked to write the recorder's row. Samples are left out from the begin of the
 * current program on. */
void joins_begin(struct process *process, uint8_t provider);

/* The provider knows since `since` (ns); 0: it never will, and nothing is left out. */
void joins_end(struct process *process, uint8_t provider, uint64_t since);

/* The process executed another program at `time` (ns), which has collected nothing for others. */
void joins_exec(struct process *process, uint64_t time);

/* Does a provider know of the recorder, or will it soon? */
bool joins_any(const struct process *process);

/* Is a sample of this time meant for other recorders? */
bool joins_leave_out(const struct process *process, uint8_t provider, uint64_t time);

#endif
