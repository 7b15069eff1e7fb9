/* SPDX-License-Identifier: BSD-2-Clause */
/* json_values.h: private: figures as JSON. */
#ifndef GCPROF_JSON_VALUES_H
#define GCPROF_JSON_VALUES_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "../model/model.h"
#include "report.h"

/* Each makes a new value, NULL without memory: json_put() tells. */
json_t *json_whole(double value); /* rounded, not below 0 */
json_t *json_count(uint64_t value);
json_t *json_name(const char *value);            /* NULL: null */
json_t *json_whole_if(bool known, double value); /* null if not known */
json_t *json_share(double value);                /* below 0: null */
json_t *json_estimate(const struct estimate *estimate, bool known);

/* Hands a value over to an object; not 0 if there was no memory. */
int json_put(json_t *object, const char *key, json_t *value);

#endif
