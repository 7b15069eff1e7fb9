/* SPDX-License-Identifier: BSD-2-Clause */
/* sleep_poll.c: threads look for work after the shortest sleep. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>
static atomic_int filled;

static void *consume(void *arg)
{
	long *got = arg;
	for (;;) {
		int state = atomic_load(&filled);
		if (state < 0)
			return NULL;
		if (state == 1) {
			atomic_store(&filled, 0);
			(*got)++;
		}
		usleep(1);
	}
}

int main(void)
{
	pthread_t threads[3];
	long got[3] = {0};
	for (int i = 0; i < 3; i++)
		pthread_create(&threads[i], NULL, consume, &got[i]);
	for (int i = 0; i < 300; i++) {
		usleep(10000);
		atomic_store(&filled, 1);
	}
	usleep(1000);
	atomic_store(&filled, -1);
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	printf("%ld\n", got[0] + got[1] + got[2]);
}
