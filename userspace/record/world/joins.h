/* SPDX-License-Identifier: BSD-2-Clause */
/* joins.h: since when the providers of a program that ran before know of this recorder. */
/*
 * Such a program may have reported its stacks to another recorder. What refers to them is left out
 * until the opener has written that this one is there, too (gc/provider/frame.h). When that was is
 * known a moment later; the samples wait for it. Not thread-safe.
 */
#ifndef GCPROF_JOINS_H
#define GCPROF_JOINS_H

#include "processes.h"

/* The opener is asked to write the row of the recorder. What is left out begins with the program
 * that runs now. */
void joins_begin(struct process *process, uint8_t provider);

/* It has known since `since` (ns); 0: it will not, and nothing is left out. */
void joins_end(struct process *process, uint8_t provider, uint64_t since);

/* The program is replaced by another at `time` (ns), which has taken nothing for others. */
void joins_exec(struct process *process, uint64_t time);

/* Does a provider know of the recorder, or will it soon? */
bool joins_any(const struct process *process);

/* Is a sample of this time for others? */
bool joins_leave_out(const struct process *process, uint8_t provider, uint64_t time);

#endif
