/* SPDX-License-Identifier: BSD-2-Clause */
/* threads.c: 24 threads compute, on a machine with fewer CPUs. */
#include <math.h>
#include <pthread.h>
#include <stdio.h>

static __attribute__((noinline)) double smooth(double x, int i)
{
	return x + sin(x * i);
}

static __attribute__((noinline)) double weigh(double x, int i)
{
	return x * 0.5 + cos(x + i);
}

static void *work(void *arg)
{
	double x = 1;

	for (int i = 0; i < 2000000; i++)
		x = i % 2 ? smooth(x, i) : weigh(x, i);
	*(double *)arg = x;
	return NULL;
}

int main(void)
{
	pthread_t threads[24];
	double sums[24];

	for (int i = 0; i < 24; i++)
		pthread_create(&threads[i], NULL, work, &sums[i]);
	for (int i = 0; i < 24; i++)
		pthread_join(threads[i], NULL);
	printf("%g\n", sums[0]);
	return 0;
}
