/* SPDX-License-Identifier: BSD-2-Clause */
/* divide.h: how many system calls of a profile a filter selects. */
/*
 * The kernel side keeps exact totals of each call in each process. It records some calls
 * individually, with the number of calls that each record stands for. A selection gets the same
 * share of a total as of its records, with an interval. If terms about the process or call decide
 * alone, it gets all or nothing. If the share is unknown, it gets nothing, and that is reported.
 * See README.md, "System calls of a selection".
 */
#ifndef GCPROF_DIVIDE_H
#define GCPROF_DIVIDE_H

struct syscalls;
struct world;

/* Fills the model's rows. Call after the last record. 0 or -ENOMEM. */
int divide_finish(const struct syscalls *syscalls, struct world *world);

#endif
