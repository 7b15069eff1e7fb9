/* SPDX-License-Identifier: BSD-2-Clause */
/* json_parts.h: private: parts of the JSON report, and their values. */
#ifndef GCPROF_JSON_PARTS_H
#define GCPROF_JSON_PARTS_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "../model/figures.h"
#include "../model/model.h"
#include "report.h"

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
json_t *json_unattributed(const struct model *model);
json_t *json_named(const struct model_gc *gc);
json_t *json_named_reasons(const struct model_gc *gc);

/* Each returns a new value; NULL without memory, which json_put() reports. */
json_t *json_whole(double value); /* rounded; 0 if negative */
json_t *json_count(uint64_t value);
json_t *json_name(const char *value);            /* NULL: null */
json_t *json_whole_if(bool known, double value); /* null if unknown */
/* Takes over a value; of one that is unknown, all figures are null and all lists are empty. */
json_t *json_if(bool known, json_t *value);
json_t *json_share(double value); /* negative: null */
json_t *json_estimate(const struct estimate *estimate, bool known);

/* Passes a value to an object, which owns it; not 0: no memory. */
int json_put(json_t *object, const char *key, json_t *value);

#endif
