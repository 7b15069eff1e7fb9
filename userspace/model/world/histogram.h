/* SPDX-License-Identifier: BSD-2-Clause */
/* histogram.h: histograms of durations, as profiles store them. */
#ifndef GCPROF_MODEL_HISTOGRAM_H
#define GCPROF_MODEL_HISTOGRAM_H

#include "../../../bpf/events.h"
#include "../../profile/record.h"

/* Histograms as profiles store them: FORMAT.md. What makes no sense ends it. */
void histogram_read(struct bytes data, uint64_t histogram[SYSCALL_BUCKETS]);
uint64_t histogram_middle(uint32_t bucket);

#endif
