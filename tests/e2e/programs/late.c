/* SPDX-License-Identifier: BSD-2-Clause */
/* late.c: threads that sleep, and say how late they woke, or others that keep CPUs busy. */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { THREADS = 12, SLEEPS = 12 };

static uint64_t now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

static void work(long rounds)
{
	for (volatile long i = 0; i < rounds; i++)
		;
}

/* Short sleeps have the scheduler move threads to and fro. */
static void *spin(void *unused)
{
	for (;;) {
		work(3000000);
		usleep(1);
	}
	return unused;
}

static void *sleeper(void *late)
{
	for (int i = 0; i < SLEEPS; i++) {
		const struct timespec pause = {.tv_nsec = 300000000};
		uint64_t began;

		work(3000000);
		began = now();
		nanosleep(&pause, NULL);
		*(uint64_t *)late += now() - began - (uint64_t)pause.tv_nsec;
	}
	return NULL;
}

int main(int argc, char **argv)
{
	void *(*what)(void *) = argc > 1 && !strcmp(argv[1], "spin") ? spin : sleeper;
	uint64_t late[THREADS] = {0}, sum = 0;
	pthread_t threads[THREADS];

	for (int i = 0; i < THREADS; i++)
		if (pthread_create(&threads[i], NULL, what, &late[i]))
			return 1;
	for (int i = 0; i < THREADS; i++) {
		pthread_join(threads[i], NULL);
		sum += late[i];
	}
	printf("late_ns=%llu\n", (unsigned long long)sum);
	return 0;
}
