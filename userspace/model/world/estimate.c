/* SPDX-License-Identifier: BSD-2-Clause */
/* estimate.c: totals from samples, with 95 % intervals. */
#include "estimate.h"

#include <math.h>

static const double z = ESTIMATE_Z;

/* If sizes differ, objects have a header and a length, so none is smaller. */
enum { LEAST_SIZE = 16 };

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
 * The score interval of a Poisson count, for a sum of different weights. The lower end is that of
 * m equal samples with the same uncertainty, less half a sample because counts are discrete. The
 * upper end U solves (U - value)^2 = z^2 * (variance + (U - value) * weight): missed objects add
 * variance, `weight` per unit. With the mean weight of the samples, U is the upper end for m;
 * without samples it is z^2 * weight.
 */
static struct estimate interval(const struct tally *tally, double weight)
{
	struct estimate out = {tally->value, tally->value, tally->value};
	double mean, m, reach;

	if (tally->variance <= 0 || tally->value <= 0)
		return out;
	mean = tally->variance / tally->value;
	m = fmax(tally->value / mean - 0.5, 0);
	out.low = mean * (m + z * z / 2 - z * sqrt(m + z * z / 4));
	out.low = fmin(fmax(out.low, tally->observed), tally->value);
	reach = z * fmax(weight, mean) / 2;
	out.high = tally->value + z * (reach + sqrt(reach * reach + tally->variance));
	return out;
}

struct estimate tally_estimate(const struct tally *tally)
{
	return interval(tally, 0);
}

void object_tally_add(struct object_tally *objects, uint64_t size, uint64_t period,
		      double probability)
{
	tally_add(&objects->tally, 1, probability);
	if (!objects->largest || size < objects->smallest)
		objects->smallest = size;
	if (size > objects->largest)
		objects->largest = size;
	objects->periods += (double)period / probability;
}

void object_tally_merge(struct object_tally *into, const struct object_tally *other)
{
	tally_merge(&into->tally, &other->tally);
	if (!into->largest || (other->largest && other->smallest < into->smallest))
		into->smallest = other->smallest;
	if (other->largest > into->largest)
		into->largest = other->largest;
	into->periods += other->periods;
}

/*
 * Small objects weigh most and are sampled least, so the smallest may be missing from the
 * samples. A missed one is assumed to be smaller than the smallest sample by the same factor as
 * that is smaller than the largest. If all samples have one size, this is that size; if sizes
 * vary much, it is the minimum.
 */
static uint64_t smallest_missed(const struct object_tally *objects)
{
	double ratio = (double)objects->smallest / (double)objects->largest;
	uint64_t size = (uint64_t)((double)objects->smallest * ratio);

	return size > LEAST_SIZE ? size : LEAST_SIZE;
}

struct estimate object_tally_estimate(const struct object_tally *objects)
{
	double period = objects->periods / objects->tally.value, p = 1;

	if (objects->largest > objects->smallest)
		p = sample_probability(smallest_missed(objects), (uint64_t)period);
	return interval(&objects->tally, (1 - p) / p);
}

/* For a count of 0, the same interval is 0 to z^2 samples of one period each. */
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

struct heap_estimate heap_estimate(uint64_t objects, uint64_t bytes, uint64_t rate)
{
	struct heap_estimate estimate = {0};
	double size, p = 1;

	if (!objects || !bytes)
		return estimate;
	size = (double)bytes / (double)objects;
	if (rate > 1)
		p = -expm1(-size / (double)rate);
	estimate.objects = (double)objects / p;
	estimate.bytes = (double)bytes / p;
	estimate.live =
		(struct tally){estimate.bytes, (1 - p) * estimate.bytes * size / p, (double)bytes};
	return estimate;
}
