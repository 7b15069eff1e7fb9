/* SPDX-License-Identifier: BSD-2-Clause */
/* mutex.c: four threads add to totals under one lock, which is held while a log is written. */
#include <pthread.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static volatile double total;

static __attribute__((noinline)) void write_log(void)
{
	nanosleep(&(struct timespec){.tv_nsec = 800000}, NULL);
}

static __attribute__((noinline)) void update_totals(double value)
{
	pthread_mutex_lock(&lock);
	total += value;
	write_log();
	pthread_mutex_unlock(&lock);
}

static void *serve(void *arg)
{
	(void)arg;
	for (int i = 0; i < 500; i++) {
		for (volatile int j = 0; j < 50000; j++)
			;
		update_totals(i);
	}
	return NULL;
}

int main(void)
{
	pthread_t threads[4];

	for (int i = 0; i < 4; i++)
		pthread_create(&threads[i], NULL, serve, NULL);
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
