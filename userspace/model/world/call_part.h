/* SPDX-License-Identifier: BSD-2-Clause */
/* call_part.h: what records of system calls say of all calls: how many each stands for. */
#ifndef GCPROF_CALL_PART_H
#define GCPROF_CALL_PART_H

#include <stdbool.h>

#include "../../profile/record.h"
#include "estimate.h"

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

#endif
