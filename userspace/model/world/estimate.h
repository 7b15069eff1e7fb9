/* SPDX-License-Identifier: BSD-2-Clause */
/* estimate.h: totals from samples, with 95 % intervals. */
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
	double low, high; /* 95 % interval */
};

/* Running sums over samples. All zero is empty. */
struct tally {
	double value;    /* estimated total */
	double variance; /* and its variance */
	double observed; /* sum of the samples themselves, a lower bound of the total */
};

/* Probability that an object of `size` bytes is sampled; 1 if the size or the period is unknown. */
double sample_probability(uint64_t size, uint64_t period);

/* Adds a sample of `value` (bytes, or 1 for objects), unweighted. */
void tally_add(struct tally *tally, double value, double probability);
void tally_merge(struct tally *into, const struct tally *other);
struct estimate tally_estimate(const struct tally *tally);

/* Running sums over sampled objects, to estimate their number. All zero is empty. */
struct object_tally {
	struct tally tally;
	uint64_t smallest, largest; /* sampled sizes */
	double periods;             /* sum of the periods, each weighted by its objects */
};

/* Adds a sampled object; `probability` is sample_probability(size, period). */
void object_tally_add(struct object_tally *objects, uint64_t size, uint64_t period,
		      double probability);
void object_tally_merge(struct object_tally *into, const struct object_tally *other);

/* The number of objects. The upper end allows for objects smaller than any sampled one. */
struct estimate object_tally_estimate(const struct object_tally *objects);

/* Interval of the bytes that were allocated if no sample was taken at this period. */
struct estimate estimate_of_nothing(uint64_t period);

/*
 * A share: the part of the sampled objects or bytes that survived, for example. All zero is
 * empty.
 */
struct share {
	double all;      /* estimated objects or bytes */
	double some;     /* the part that counts */
	double variance; /* sum of (1 - p) * (amount / p)^2 */
};

/* Adds a sample of `amount` (bytes, or 1 for objects), unweighted. */
void share_add_amount(struct share *share, bool counts, double amount, double probability);

/* The same for one object. */
void share_add(struct share *share, bool counts, double probability);
void share_merge(struct share *into, const struct share *other);

/* Wilson's interval on the effective number of samples; without samples value -1, interval 0..1. */
struct estimate share_estimate(const struct share *share);

/* Objects and bytes, estimated from a heap profile. */
struct heap_estimate {
	double objects, bytes;
	struct tally live; /* of the bytes, for their interval */
};

/* For `objects` with `bytes` in total, from a heap profile that samples every `rate` bytes. */
struct heap_estimate heap_estimate(uint64_t objects, uint64_t bytes, uint64_t rate);

#endif
