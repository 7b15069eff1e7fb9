/* SPDX-License-Identifier: BSD-2-Clause */
/* estimate.h: from samples to totals, with 95 % intervals. */
/*
 * An object of `size` bytes is sampled with probability p = 1 - exp(-size / period).
 * Each sample therefore stands for 1/p objects of its size (Horvitz and Thompson).
 */
#ifndef GCPROF_ESTIMATE_H
#define GCPROF_ESTIMATE_H

#include <stdbool.h>
#include <stdint.h>

/* Quantile of the normal distribution for a two-sided 95 % interval. */
#define ESTIMATE_Z 1.959963984540054

struct estimate {
	double value;
	double low, high; /* 95 % */
};

/* Running sums over samples. All zero is none. */
struct tally {
	double value;    /* estimated total */
	double variance; /* and its variance */
	double observed; /* what the samples themselves add up to: the total is not less */
};

/* That an object of `size` bytes is sampled; 1 where the period or the size is not known. */
double sample_probability(uint64_t size, uint64_t period);

/* One sample that stands for `value` (bytes, or 1 for objects). */
void tally_add(struct tally *tally, double value, double probability);
void tally_merge(struct tally *into, const struct tally *other);
struct estimate tally_estimate(const struct tally *tally);

/* Running sums over sampled objects that tell how many there are. All zero is none. */
struct object_tally {
	struct tally tally;
	uint64_t smallest, largest; /* sizes that were sampled */
	double periods;             /* those in force, each times the objects it was in force for */
};

/* A sampled object; `probability` is sample_probability(size, period). */
void object_tally_add(struct object_tally *objects, uint64_t size, uint64_t period,
		      double probability);
void object_tally_merge(struct object_tally *into, const struct object_tally *other);

/* The number of objects; its upper end reckons with objects smaller than any that was sampled. */
struct estimate object_tally_estimate(const struct object_tally *objects);

/* What may have been allocated although no sample was taken at this period. */
struct estimate estimate_of_nothing(uint64_t period);

/* A share: of the sampled objects or bytes, estimated, those that survived. All zero is none. */
struct share {
	double all;      /* estimated objects or bytes */
	double some;     /* of them, those that count */
	double variance; /* sum of (1 - p) * (amount / p)^2 */
};

/* One sample that stands for `amount` (bytes, or 1 for objects) before it is unbiased. */
void share_add_amount(struct share *share, bool counts, double amount, double probability);

/* The same for one object. */
void share_add(struct share *share, bool counts, double probability);
void share_merge(struct share *into, const struct share *other);

/* Wilson's interval on the effective number of samples; value -1, interval 0..1 if none. */
struct estimate share_estimate(const struct share *share);

/* What of sampled objects of these bytes together is estimated from them. */
struct heap_estimate {
	double objects, bytes;
};

/* Of `objects` of `bytes` together in a heap profile that samples every `rate` bytes. */
struct heap_estimate heap_estimate(uint64_t objects, uint64_t bytes, uint64_t rate);

#endif
