/* SPDX-License-Identifier: BSD-2-Clause */
/* best.h: the greatest of many values, in room for those alone. */
#ifndef GCPROF_BEST_H
#define GCPROF_BEST_H

#include <stddef.h>
#include <stdint.h>

struct best;

/* For the numbers of the `most` greatest values, at least 1. 0 or -ENOMEM. Not thread-safe. */
int best_create(size_t most, struct best **out);
void best_free(struct best *best); /* NULL is allowed */

/* A value and its number. Values of 0 and below are none; of equal ones the first stay. */
void best_offer(struct best *best, double value, uint32_t number);

/* How many there are, and their numbers, in no order. */
size_t best_count(const struct best *best);
uint32_t best_number(const struct best *best, size_t i);

#endif
