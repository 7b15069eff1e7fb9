/* SPDX-License-Identifier: BSD-2-Clause */
/* durations.h: durations of one kind of events: each by itself, or as a histogram. */
#ifndef GCPROF_DURATIONS_H
#define GCPROF_DURATIONS_H

#include <stddef.h>
#include <stdint.h>

#include "../../../bpf/events.h"
#include "../../profile/record.h"

struct model_pauses;

/* One by one, and those of which only sums are known. All zero is none. */
struct durations {
	uint64_t *ns;
	size_t count, capacity;
	uint64_t summed, summed_ns, summed_max;
	uint64_t histogram[SYSCALL_BUCKETS]; /* of the summed */
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

/* -EBADMSG: the histogram is not theirs. */
int durations_add_sums(struct durations *durations, const struct record_gc_summary *record);

/* How many there are, how long they took, and percentiles. Sorts them. */
void durations_summarize(struct durations *durations, struct model_pauses *out);

#endif
