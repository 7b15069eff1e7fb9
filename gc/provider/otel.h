/* SPDX-License-Identifier: BSD-2-Clause */
/* otel.h: samples for consumers of OpenTelemetry's contract for heap profiles. */
/*
 * Profilers that do not know our probes but otel_memory:alloc(pointer, size, weight) and
 * otel_memory:free(pointer) get the same samples (design document 00003 of the OpenTelemetry eBPF
 * profiler, "Memory profiling", 2026). gcprof's recorder attaches to neither in a file that has the
 * provider `gcprof`. The contract has no control block: while a profiler is attached to the file,
 * all processes that have mapped it take samples. Any thread may call these functions.
 */
#ifndef GCPROF_OTEL_H
#define GCPROF_OTEL_H

#include <stdbool.h>

#include "probe.h"
#include "probe_args.h"

/* Whether a consumer is attached; for outcomes, one that also had a sample. */
bool otel_wants_samples(void);
bool otel_wants_outcomes(void);

/* Reports a sample. */
void otel_sample(const struct probe_sample *sample);

/* Reports dead or freed sampled objects. */
void otel_outcomes(const struct gcprof_fate *fates, uint32_t count);

#endif
