/* SPDX-License-Identifier: BSD-2-Clause */
/* json_values.h: private: creates JSON values. */
#ifndef GCPROF_JSON_VALUES_H
#define GCPROF_JSON_VALUES_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "../model/model.h"
#include "report.h"

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
