/* SPDX-License-Identifier: BSD-2-Clause */
/* spinlock.c: threads spin for a lock that is held for long. */
#include <math.h>
#include <pthread.h>
#include <stdio.h>

static pthread_spinlock_t lock;
static volatile double total;

static __attribute__((noinline)) void add(int i)
{
	double x = i;

	pthread_spin_lock(&lock);
	for (int j = 0; j < 2000; j++)
		x = sin(x) + 1;
	total += x;
	pthread_spin_unlock(&lock);
}

static void *work(void *arg)
{
	for (int i = 0; i < 15000; i++)
		add(i);
	return arg;
}

int main(void)
{
	pthread_t threads[2];

	pthread_spin_init(&lock, PTHREAD_PROCESS_PRIVATE);
	for (int i = 0; i < 2; i++)
		pthread_create(&threads[i], NULL, work, NULL);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	printf("%g\n", total);
	return 0;
}
