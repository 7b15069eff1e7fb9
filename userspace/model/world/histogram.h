/* SPDX-License-Identifier: BSD-2-Clause */
/* histogram.h: histograms of durations, as stored in profiles. */
#ifndef GCPROF_MODEL_HISTOGRAM_H
#define GCPROF_MODEL_HISTOGRAM_H

#include "../../../bpf/events.h"
#include "../../profile/record.h"

/* Adds the counts. Format: see FORMAT.md. Stops at invalid data. */
void histogram_add(struct bytes data, uint64_t histogram[SYSCALL_BUCKETS]);
uint64_t histogram_middle(uint32_t bucket);

#endif
