/* SPDX-License-Identifier: BSD-2-Clause */
/* waits.c: waits a known number of times, for a known reason. */
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* Sleeps, `count` times 5 ms, in a function that a stack can name. */
__attribute__((noinline)) static int do_sleep(long count)
{
	struct timespec pause = {.tv_nsec = 5000000};

	for (long i = 0; i < count; i++)
		nanosleep(&pause, NULL);
	return 0;
}

static int there[2], back[2];

static void *echo(void *argument)
{
	char byte;

	while (read(there[0], &byte, 1) == 1)
		if (write(back[1], &byte, 1) != 1)
			break;
	return argument;
}

/* Sends a byte to another thread and waits for it to come back. */
static int do_pipe(long count)
{
	pthread_t thread;
	char byte = 0;

	if (pipe(there) || pipe(back) || pthread_create(&thread, NULL, echo, NULL))
		return 1;
	for (long i = 0; i < count; i++)
		if (write(there[1], &byte, 1) != 1 || read(back[0], &byte, 1) != 1)
			return 1;
	close(there[1]);
	return pthread_join(thread, NULL);
}

static void *burn(void *argument)
{
	struct timespec now;

	do
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	while (now.tv_sec * 1000 + now.tv_nsec / 1000000 < (intptr_t)argument);
	return NULL;
}

/* The first CPU that we may use, in `one`. */
static int choose_cpu(cpu_set_t *one)
{
	cpu_set_t allowed;
	int cpu = 0;

	if (sched_getaffinity(0, sizeof(allowed), &allowed))
		return 1;
	while (cpu < CPU_SETSIZE - 1 && !CPU_ISSET(cpu, &allowed))
		cpu++;
	CPU_ZERO(one);
	CPU_SET(cpu, one);
	return 0;
}

/* Two threads that want the same CPU, each for so many ms. */
static int do_spin(long ms)
{
	pthread_t thread;
	cpu_set_t one;

	if (choose_cpu(&one) || sched_setaffinity(0, sizeof(one), &one) ||
	    pthread_create(&thread, NULL, burn, (void *)(intptr_t)ms))
		return 1;
	burn((void *)(intptr_t)ms);
	return pthread_join(thread, NULL);
}

/* Touches so many pages for the first time. */
__attribute__((noinline)) static int do_touch(long pages)
{
	char *memory = mmap(NULL, (size_t)pages * 4096, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (memory == MAP_FAILED || madvise(memory, (size_t)pages * 4096, MADV_NOHUGEPAGE))
		return 1;
	for (long i = 0; i < pages; i++)
		memory[i * 4096] = 1;
	return 0;
}

/* A child stops itself; we let it go on after so many ms. */
static int do_stop(long ms)
{
	struct timespec pause = {ms / 1000, ms % 1000 * 1000000};
	pid_t child = fork();
	int status;

	if (child < 0)
		return 1;
	if (!child) {
		raise(SIGSTOP);
		_exit(0);
	}
	waitpid(child, &status, WUNTRACED);
	nanosleep(&pause, NULL);
	kill(child, SIGCONT);
	return waitpid(child, &status, 0) != child;
}

static const struct {
	const char *name;
	int (*run)(long count);
} ways[] = {
	{"sleep", do_sleep}, {"pipe", do_pipe}, {"spin", do_spin},
	{"touch", do_touch}, {"stop", do_stop},
};

int main(int argc, char **argv)
{
	for (size_t i = 0; argc == 3 && i < sizeof(ways) / sizeof(ways[0]); i++)
		if (!strcmp(argv[1], ways[i].name))
			return ways[i].run(strtol(argv[2], NULL, 10));
	fprintf(stderr, "Usage: waits sleep|pipe|spin|touch|stop COUNT\n");
	return 2;
}
