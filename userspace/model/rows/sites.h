/* SPDX-License-Identifier: BSD-2-Clause */
/* sites.h: allocation sites: one row per function and its nearest callers. */
#ifndef GCPROF_SITES_H
#define GCPROF_SITES_H

#include <stddef.h>
#include <stdint.h>

#include "../rows.h"

struct world;

#define SITES_MAX 4096 /* rows by each measure, if there are more sites */

/*
 * The site of an allocating stack: indexes into the function table plus 1, the allocating function
 * first, without direct recursion and without native functions between managed ones; 0: no more.
 */
void sites_functions(const struct world *world, uint32_t stack, uint32_t functions[SITE_FUNCTIONS]);

/*
 * Fills model->sites, most collection time first. If there are too many sites, only the first
 * SITES_MAX by each of these get rows: collection time, bytes, surviving, prematurely promoted
 * and live bytes. Functions and types must have names. 0 or -ENOMEM.
 */
int sites_finish(struct world *world);

/* Keeps the N greatest of many values. */

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
