/* SPDX-License-Identifier: BSD-2-Clause */
/* quota.c: two threads compute in a control group that may use less than half of a CPU. */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>

enum { ROUNDS = 600, STEPS = 1000000 };

static uint64_t simulate(uint64_t seed)
{
	for (int i = 0; i < STEPS; i++)
		seed = seed * 6364136223846793005u + 1442695040888963407u;
	return seed;
}

static void *work(void *result)
{
	for (int i = 0; i < ROUNDS; i++)
		*(uint64_t *)result += simulate((uint64_t)i);
	return NULL;
}

int main(void)
{
	pthread_t threads[2];
	uint64_t results[2] = {0};

	for (int i = 0; i < 2; i++)
		pthread_create(&threads[i], NULL, work, &results[i]);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	printf("%ju\n", (uintmax_t)(results[0] + results[1]));
	return 0;
}
