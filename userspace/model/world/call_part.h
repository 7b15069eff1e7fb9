/* SPDX-License-Identifier: BSD-2-Clause */
/* call_part.h: sums over system call records, weighted by the calls that each stands for. */
#ifndef GCPROF_CALL_PART_H
#define GCPROF_CALL_PART_H

#include <stdbool.h>

#include "../../profile/record.h"
#include "estimate.h"

/* What the records of one call in one process say about its total. All zero is empty. */
struct call_part {
	uint64_t records;               /* selected or not */
	bool unknown;                   /* a record lacks its weight */
	struct share count, time;       /* all records weighted, and the selected part */
	double stackless;               /* weighted records without a stack */
	double errors, gc_count, gc_ns; /* selected records, weighted */
};

/* Number of calls that the record stands for; 1 if unknown. */
uint64_t call_stands(const struct record_syscall *record);

/* The duration times that number; at most UINT32_MAX seconds. */
uint64_t call_stands_ns(const struct record_syscall *record);

/* Adds a record. */
void call_part_add(struct call_part *part, const struct record_syscall *record, bool selected);

#endif
