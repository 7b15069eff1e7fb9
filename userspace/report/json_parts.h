/* SPDX-License-Identifier: BSD-2-Clause */
/* json_parts.h: private: parts of the JSON report. */
#ifndef GCPROF_JSON_PARTS_H
#define GCPROF_JSON_PARTS_H

#include <jansson.h>

#include "../model/model.h"

/* Each returns a new value with at most `top` rows; NULL: no memory. */
json_t *json_programs(const struct model *model, size_t top);
json_t *json_live_heap(const struct model *model, size_t top);
json_t *json_entries(const struct model *model, size_t top);
json_t *json_sites(const struct model *model, size_t top);
/*
 * The number of calls in each range of durations; `histogram` has SYSCALL_BUCKETS items or
 * is NULL.
 */
json_t *json_histogram(const uint64_t *histogram);
json_t *json_waits(const struct model *model, size_t top);
json_t *json_wakers(const struct model *model, size_t top);
json_t *json_off_cpu(const struct model *model, size_t top);
json_t *json_pauses(const struct model *model, size_t top);
json_t *json_slow_calls(const struct model *model, size_t top);
json_t *json_faults(const struct model *model, size_t top);
json_t *json_timeline(const struct model *model, size_t top);
json_t *json_warnings(const struct model *model, size_t top);
json_t *json_reasons(const struct model_gc *gc);
json_t *json_utilisation(const struct model_gc *gc);
json_t *json_durations(const struct model_pauses *pauses);
json_t *json_cycles(const struct model *model, size_t top);
json_t *json_named(const struct model_gc *gc);
json_t *json_named_reasons(const struct model_gc *gc);
json_t *json_areas(const struct model *model);
json_t *json_runtimes(const struct model *model);
void json_put_heap(json_t *row, uint64_t before, uint64_t after);

/* Adds a thread's resource usage as keys of `row`. */
void json_put_usage(json_t *row, const struct model_thread *thread);

/* Adds the outcomes of objects as keys of `row`. */
void json_put_life(json_t *row, const struct life *life);

#endif
