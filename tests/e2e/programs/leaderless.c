// SPDX-License-Identifier: BSD-2-Clause
/* leaderless.c: a process whose main thread ends while two others compute, for SECONDS. */
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

static volatile unsigned sink;
static time_t end;

__attribute__((noinline)) static void burn_on(void)
{
	for (unsigned i = 0; i < 1000000; i++)
		sink += i;
}

static void *work(void *none)
{
	while (time(NULL) < end)
		burn_on();
	return none;
}

int main(int argc, char **argv)
{
	pthread_t thread;

	end = time(NULL) + (argc > 1 ? atoi(argv[1]) : 1);
	pthread_create(&thread, NULL, work, NULL);
	pthread_create(&thread, NULL, work, NULL);
	pthread_exit(NULL);
}
