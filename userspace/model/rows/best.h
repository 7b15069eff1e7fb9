/* SPDX-License-Identifier: BSD-2-Clause */
/* best.h: keeps the N greatest of many values. */
#ifndef GCPROF_BEST_H
#define GCPROF_BEST_H

#include <stddef.h>
#include <stdint.h>

struct best;

/* Keeps the `most` greatest values, at least 1. 0 or -ENOMEM. Not thread-safe. */
int best_create(size_t most, struct best **out);
void best_free(struct best *best); /* NULL is allowed */

/* Offers a value with its number. Values <= 0 are ignored; among equal values the first win. */
void best_offer(struct best *best, double value, uint32_t number);

/* Number of values kept, and their numbers, in no order. */
size_t best_count(const struct best *best);
uint32_t best_number(const struct best *best, size_t i);

#endif
