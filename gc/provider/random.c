/* SPDX-License-Identifier: BSD-2-Clause */
/* random.c: xoshiro256**, exponential variates and weights of samples, without libm. */
#include "random.h"

#include <string.h>

#define LN2 0x1.62e42fefa39efp-1

static uint64_t rotate(uint64_t x, int k)
{
	return x << k | x >> (64 - k);
}

/* splitmix64. */
void random_seed(uint64_t state[4], uint64_t seed)
{
	for (int i = 0; i < 4; i++) {
		uint64_t z = seed += UINT64_C(0x9e3779b97f4a7c15);

		z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
		z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
		state[i] = z ^ z >> 31;
	}
}

uint64_t random_next(uint64_t state[4])
{
	uint64_t result = rotate(state[1] * 5, 7) * 9;
	uint64_t t = state[1] << 17;

	state[2] ^= state[0];
	state[3] ^= state[1];
	state[1] ^= state[2];
	state[0] ^= state[3];
	state[2] ^= t;
	state[3] = rotate(state[3], 45);
	return result;
}

/* Natural logarithm of a positive normal number, to about 1e-14: log m = 2 atanh((m-1)/(m+1)). */
static double logarithm(double x)
{
	uint64_t bits;
	int exponent;
	double m, s, square, sum = 0;

	memcpy(&bits, &x, sizeof(bits));
	exponent = (int)(bits >> 52) - 1023;
	bits = (bits & ((UINT64_C(1) << 52) - 1)) | (UINT64_C(1023) << 52);
	memcpy(&m, &bits, sizeof(m));
	if (m > 1.41421356) {
		m /= 2;
		exponent++;
	}
	s = (m - 1) / (m + 1);
	square = s * s;
	for (int k = 15; k > 0; k -= 2)
		sum = sum * square + 1.0 / k;
	return exponent * LN2 + 2 * s * sum;
}

/* Mean 1. The uniform number is in (0, 1], so its logarithm is finite. */
double random_exponential(uint64_t state[4])
{
	double u = (double)((random_next(state) >> 11) + 1) * 0x1p-53;

	return -logarithm(u);
}

/* exp(-x), x >= 0, to about 1e-14: by its series near 0, then squared. */
static double power_of_e(double x)
{
	int halved = 0;
	double sum = 1;

	if (x > 700)
		return 0;
	for (; x > 0.25; halved++)
		x /= 2;
	for (int k = 10; k > 0; k--)
		sum = 1 - sum * x / k;
	for (; halved; halved--)
		sum *= sum;
	return sum;
}

uint64_t random_weight(uint64_t size, uint64_t period)
{
	double x = (double)size / (double)period;

	/* For small x, 1 - exp(-x) would lose precision. */
	if (x < 1e-4)
		return period + size / 2;
	return (uint64_t)((double)size / (1 - power_of_e(x)) + 0.5);
}
