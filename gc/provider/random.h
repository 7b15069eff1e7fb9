/* SPDX-License-Identifier: BSD-2-Clause */
/* random.h: uniform and exponential random numbers, and the weight of a sample. */
#ifndef GCPROF_RANDOM_H
#define GCPROF_RANDOM_H

#include <stdint.h>

/* Any seed gives a good state. */
void random_seed(uint64_t state[4], uint64_t seed);

/* 64 uniform bits. */
uint64_t random_next(uint64_t state[4]);

/* Mean 1; never negative nor infinite. */
double random_exponential(uint64_t state[4]);

/* The bytes that a sampled object of `size` bytes (not 0) represents, if the mean distance between
 * hits is `period` (not 0): size / (1 - exp(-size / period)). */
uint64_t random_weight(uint64_t size, uint64_t period);

#endif
