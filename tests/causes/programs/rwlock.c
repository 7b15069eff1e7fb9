/* SPDX-License-Identifier: BSD-2-Clause */
/* rwlock.c: readers wait for a writer. */
#include <pthread.h>
#include <time.h>

static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static volatile long table;

static __attribute__((noinline)) long look_up(int i)
{
	pthread_rwlock_rdlock(&lock);
	i += (int)table;
	pthread_rwlock_unlock(&lock);
	return i;
}

static __attribute__((noinline)) void rebuild(void)
{
	pthread_rwlock_wrlock(&lock);
	nanosleep(&(struct timespec){.tv_nsec = 9000000}, NULL);
	table++;
	pthread_rwlock_unlock(&lock);
}

static void *serve(void *arg)
{
	for (int i = 0; i < 200; i++) {
		look_up(i);
		nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
	}
	return arg;
}

int main(void)
{
	pthread_t threads[3];

	for (int i = 0; i < 3; i++)
		pthread_create(&threads[i], NULL, serve, NULL);
	for (int i = 0; i < 200; i++) {
		rebuild();
		nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
	}
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
