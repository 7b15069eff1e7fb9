/* SPDX-License-Identifier: BSD-2-Clause */
/* estimate.c: from samples to totals, with 95 % intervals. */
#include "estimate.h"

#include <math.h>

/* Quantile of the normal distribution for a two-sided 95 % interval. */
static const double z = 1.959963984540054;

double sample_probability(uint64_t size, uint64_t period)
{
	if (!size || !period)
		return 1;
	return -expm1(-(double)size / (double)period);
}

void tally_add(struct tally *tally, double value, double probability)
{
	double estimated = value / probability;

	tally->value += estimated;
	tally->variance += (1 - probability) * estimated * estimated;
	tally->observed += value;
}

void tally_merge(struct tally *into, const struct tally *other)
{
	into->value += other->value;
	into->variance += other->variance;
	into->observed += other->observed;
}

/*
 * The score interval of a Poisson count m, scaled: unlike value +- z * deviation
 * it is not symmetric, never below 0, and covers 95 % from a handful of samples
 * on. m is the number of equal samples that would have this relative variance.
 */
struct estimate tally_estimate(const struct tally *tally)
{
	struct estimate out = {tally->value, tally->value, tally->value};
	double m, middle, reach;

	if (tally->variance <= 0 || tally->value <= 0)
		return out;
	m = tally->value * tally->value / tally->variance;
	middle = 1 + z * z / (2 * m);
	reach = z * sqrt(1 / m + z * z / (4 * m * m));
	out.low = fmax(tally->value * (middle - reach), tally->observed);
	out.high = fmax(tally->value * (middle + reach), out.low);
	return out;
}

/* The same interval for a count of 0 is 0 to z^2 samples, and each stands for a period. */
struct estimate estimate_of_nothing(uint64_t period)
{
	return (struct estimate){0, 0, z * z * (double)period};
}

void share_add_amount(struct share *share, bool counts, double amount, double probability)
{
	double estimated = amount / probability;

	share->all += estimated;
	share->some += counts ? estimated : 0;
	share->variance += (1 - probability) * estimated * estimated;
}

void share_add(struct share *share, bool counts, double probability)
{
	share_add_amount(share, counts, 1, probability);
}

void share_merge(struct share *into, const struct share *other)
{
	into->all += other->all;
	into->some += other->some;
	into->variance += other->variance;
}

struct estimate share_estimate(const struct share *share)
{
	struct estimate out = {-1, 0, 1};
	double n, middle, reach;

	if (share->all <= 0)
		return out;
	out.value = fmin(share->some / share->all, 1);
	if (share->variance <= 0) {
		out.low = out.high = out.value;
		return out;
	}
	n = share->all * share->all / share->variance;
	middle = (out.value + z * z / (2 * n)) / (1 + z * z / n);
	reach = z * sqrt(out.value * (1 - out.value) / n + z * z / (4 * n * n)) / (1 + z * z / n);
	out.low = fmax(fmin(middle - reach, out.value), 0);
	out.high = fmin(fmax(middle + reach, out.value), 1);
	return out;
}
