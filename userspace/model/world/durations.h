/* SPDX-License-Identifier: BSD-2-Clause */
/* durations.h: durations of one kind of event, as single values or as a histogram. */
#ifndef GCPROF_DURATIONS_H
#define GCPROF_DURATIONS_H

#include <stddef.h>
#include <stdint.h>

#include "../../../bpf/events.h"
#include "../../profile/record.h"

struct model_pauses;

/* Single durations, and sums over others. All zero is empty. */
struct durations {
	uint64_t *ns;
	size_t count, capacity;
	uint64_t summed, summed_ns, summed_max;
	uint64_t histogram[SYSCALL_BUCKETS]; /* of the summed ones */
};

static inline void raise_to(uint64_t *most, uint64_t value)
{
	if (*most < value)
		*most = value;
}

void durations_free(struct durations *durations);

/* 0 or -ENOMEM. */
int durations_add(struct durations *durations, uint64_t ns);
int durations_add_all(struct durations *durations, const struct durations *others);

/* -EBADMSG: the histogram does not match the count. */
int durations_add_sums(struct durations *durations, const struct record_gc_summary *record);

/* Count, total and percentiles. Sorts the durations. */
void durations_summarize(struct durations *durations, struct model_pauses *out);

/* Adds the counts. Format: see FORMAT.md. Stops at invalid data. */
void histogram_add(struct bytes data, uint64_t histogram[SYSCALL_BUCKETS]);
uint64_t histogram_middle(uint32_t bucket);

#endif
