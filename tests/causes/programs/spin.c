/* SPDX-License-Identifier: BSD-2-Clause */
/* spin.c: a thread spins until another has a result. */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <time.h>

static atomic_int ready;

static __attribute__((noinline)) void await_result(int i)
{
	while (atomic_load(&ready) < i)
		sched_yield();
}

static void *produce(void *arg)
{
	(void)arg;
	for (int i = 0; i < 100; i++) {
		nanosleep(&(struct timespec){.tv_nsec = 25000000}, NULL);
		atomic_fetch_add(&ready, 1);
	}
	return NULL;
}

int main(void)
{
	pthread_t thread;

	pthread_create(&thread, NULL, produce, NULL);
	for (int i = 1; i <= 100; i++)
		await_result(i);
	pthread_join(thread, NULL);
	return 0;
}
