/* SPDX-License-Identifier: BSD-2-Clause */
/* divide.h: how many system calls of a profile a filter selects. */
/*
 * The kernel side keeps exact totals of each call in each process, and records some calls one by
 * one, each with how many it stands for. A selection gets the part of a total that the records
 * have in it, with an interval; all or nothing where the process or the call decides alone; and
 * nothing where there is no way to tell, which is reported. README.md, "System calls of a
 * selection".
 */
#ifndef GCPROF_DIVIDE_H
#define GCPROF_DIVIDE_H

struct syscalls;
struct world;

/* Rows into the model, once all is read. 0 or -ENOMEM. */
int divide_finish(const struct syscalls *syscalls, struct world *world);

#endif
