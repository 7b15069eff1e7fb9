/* SPDX-License-Identifier: BSD-2-Clause */
/* json_parts.h: private: parts of the JSON report. */
#ifndef GCPROF_JSON_PARTS_H
#define GCPROF_JSON_PARTS_H

#include <jansson.h>

#include "../model/figures.h"

/* A row of a table, by its figures; NULL: no memory. */
json_t *json_row(const struct model *model, enum row_kind table, const void *row);

/* The first rows of a table; `more`, if any, adds what a row has beside its figures. */
typedef void json_more(json_t *object, const void *row);
json_t *json_rows(const struct model *model, enum row_kind table, size_t top, json_more *more);

/* Bytes by age at death. */
json_t *json_ages(const struct life *life);

/* The waits of a thread by reason; null: unknown. */
json_t *json_thread_waits(const struct model_thread *thread);

/*
 * The number of calls in each range of durations; `histogram` has SYSCALL_BUCKETS items or
 * is NULL.
 */
json_t *json_histogram(const uint64_t *histogram);
json_t *json_off_cpu(const struct model *model, size_t top);
json_t *json_pauses(const struct model *model, size_t top);
json_t *json_faults(const struct model *model, size_t top);
json_t *json_timeline(const struct model *model, size_t top);
json_t *json_warnings(const struct model *model, size_t top);
json_t *json_reasons(const struct model_gc *gc);
json_t *json_utilisation(const struct model_gc *gc);
json_t *json_durations(const struct model_pauses *pauses);
json_t *json_cycles(const struct model *model, size_t top);
json_t *json_parts(const struct model *model);
json_t *json_named(const struct model_gc *gc);
json_t *json_named_reasons(const struct model_gc *gc);
void json_put_heap(json_t *row, uint64_t before, uint64_t after);

#endif
