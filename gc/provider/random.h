/* SPDX-License-Identifier: BSD-2-Clause */
/* random.h: random numbers of a generator's own, uniform and exponential, and the law of samples.
 */
#ifndef GCPROF_RANDOM_H
#define GCPROF_RANDOM_H

#include <stdint.h>

/* Any seed makes a good state. */
void random_seed(uint64_t state[4], uint64_t seed);

/* 64 uniform bits. */
uint64_t random_next(uint64_t state[4]);

/* Mean 1; never negative nor infinite. */
double random_exponential(uint64_t state[4]);

/* For how many bytes an object of `size` bytes stands, not 0, that was sampled with this mean
 * distance (`period`, not 0) between hits: size / (1 - exp(-size / period)). */
uint64_t random_weight(uint64_t size, uint64_t period);

#endif
