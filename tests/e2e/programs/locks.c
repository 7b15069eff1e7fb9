// SPDX-License-Identifier: BSD-2-Clause
/* locks.c: a thread `holder` has a lock for long, another, `waiter`, waits for it; says how long,
 * and how long it waited for the other in all. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t taken;

static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

static void *hold(void *times)
{
	const struct timespec nap = {0, 5000000};

	pthread_setname_np(pthread_self(), "holder");
	for (long i = 0; i < (long)times; i++) {
		pthread_mutex_lock(&lock);
		pthread_barrier_wait(&taken);
		nanosleep(&nap, NULL);
		pthread_mutex_unlock(&lock);
		pthread_barrier_wait(&taken);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	long times = argc > 1 ? atol(argv[1]) : 50;
	pthread_t holder;
	double waited = 0, whole = 0;

	pthread_barrier_init(&taken, NULL, 2);
	pthread_create(&holder, NULL, hold, (void *)times);
	pthread_setname_np(pthread_self(), "waiter");
	for (long i = 0; i < times; i++) {
		double first = now(), began;

		pthread_barrier_wait(&taken);
		began = now();
		pthread_mutex_lock(&lock);
		waited += now() - began;
		pthread_mutex_unlock(&lock);
		pthread_barrier_wait(&taken);
		whole += now() - first;
	}
	whole -= now();
	pthread_join(holder, NULL);
	whole += now();
	printf("%.0f %.0f\n", waited, whole);
	return 0;
}
