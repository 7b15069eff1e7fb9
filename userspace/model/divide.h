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

#include "../profile/record.h"
#include "estimate.h"

struct pass;

/* What the records of one call in one process say of its total. All zero is none. */
struct call_part {
	uint64_t records;               /* selected or not */
	bool unknown;                   /* one does not tell what it stands for */
	struct share count, time;       /* what all stand for, and what is selected of it */
	double errors, gc_count, gc_ns; /* what is selected, each as many times as it stands for */
};

/* For how many calls it counts where that is added up: 1 where it is not known. */
uint64_t call_stands(const struct record_syscall *record);

/* The duration, times that; at most UINT32_MAX seconds. */
uint64_t call_stands_ns(const struct record_syscall *record);

/* One record more. */
void call_part_add(struct call_part *part, const struct record_syscall *record, bool selected);

/* Rows into model->syscalls, once all is read; only with a selection. 0 or -ENOMEM. */
int divide_finish(struct pass *pass);

#endif
