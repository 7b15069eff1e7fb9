/* SPDX-License-Identifier: BSD-2-Clause */
/* otel.h: samples for consumers of OpenTelemetry's contract for heap profiles. */
/*
 * Other profilers know otel_memory:alloc(pointer, size, weight) and otel_memory:free(pointer), not
 * our probes. They get the same samples. (Design document 00003 of the OpenTelemetry eBPF profiler,
 * "Memory profiling", 2026.) A recorder of ours attaches to none of them in a file that has
 * provider `gcprof`. The contract has no control block: as long as one is attached to the file, all
 * processes that have mapped it take samples. Any thread may call these functions.
 */
#ifndef GCPROF_OTEL_H
#define GCPROF_OTEL_H

#include <stdbool.h>

#include "probe.h"
#include "probe_args.h"

/* Has anybody attached? For outcomes: and had a sample. */
bool otel_wants_samples(void);
bool otel_wants_outcomes(void);

/* A sample was taken. */
void otel_sample(const struct probe_sample *sample);

/* Tells which sampled objects are gone. */
void otel_outcomes(const struct gcprof_fate *fates, uint32_t count);

#endif
