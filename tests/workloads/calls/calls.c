/* SPDX-License-Identifier: BSD-2-Clause */
/* calls.c: makes a known number of system calls, of the kinds that are hard to count. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { SOME = 100 };

/* By the 32-bit entry: 20 is getpid there, and writev in the other table. */
static int do_compat(void)
{
	for (int i = 0; i < SOME; i++) {
		int result;

		__asm__ volatile("int $0x80" : "=a"(result) : "a"(20) : "memory");
		if (result != getpid())
			return 1;
	}
	return 0;
}

static void on_alarm(int number)
{
	(void)number;
}

/* A sleep that a signal interrupts: the kernel restarts it behind our back. */
static int do_restart(void)
{
	struct sigaction action = {.sa_handler = on_alarm, .sa_flags = SA_RESTART};
	struct timespec pause = {.tv_nsec = 1000000};
	char byte;
	int ends[2];
	pid_t child;

	if (sigaction(SIGUSR1, &action, NULL) || pipe(ends))
		return 1;
	child = fork();
	if (!child) {
		for (int i = 0; i < 10; i++) {
			nanosleep(&pause, NULL);
			kill(getppid(), SIGUSR1);
		}
		nanosleep(&pause, NULL);
		_exit(write(ends[1], "x", 1) != 1);
	}
	/* Interrupted up to ten times, and one call to us. */
	if (read(ends[0], &byte, 1) != 1)
		return 1;
	return waitpid(child, NULL, 0) != child;
}

/* Children that run another program out of the parent's memory. */
static int do_vfork(void)
{
	for (volatile int i = 0; i < 10; i++) {
		pid_t child = vfork();

		if (!child) {
			execl("/bin/true", "true", NULL);
			_exit(1);
		}
		if (child < 0 || waitpid(child, NULL, 0) != child)
			return 1;
	}
	return 0;
}

static void *wait_for_ever(void *thread)
{
	__atomic_store_n((pid_t *)thread, gettid(), __ATOMIC_RELEASE);
	pause();
	return NULL;
}

/* Whether a thread has said who it is and sleeps: in its call, there is nothing else to wait for.
 */
static int waits(const pid_t *thread)
{
	pid_t id = __atomic_load_n(thread, __ATOMIC_ACQUIRE);
	char path[64], state = 0;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/self/task/%d/stat", id);
	file = id ? fopen(path, "r") : NULL;
	if (!file)
		return 0;
	if (fscanf(file, "%*d (calls) %c", &state) != 1)
		state = 0;
	fclose(file);
	return state == 'S';
}

/* Ends while threads are still in a call, in which each of them has been for a moment. */
static int do_open(void)
{
	struct timespec moment = {.tv_nsec = 50000000}, short_while = {.tv_nsec = 1000000};
	static pid_t threads[5];
	pthread_t thread;

	for (int i = 0; i < 5; i++)
		if (pthread_create(&thread, NULL, wait_for_ever, &threads[i]))
			return 1;
	for (int i = 0; i < 5; i++)
		while (!waits(&threads[i]))
			nanosleep(&short_while, NULL);
	nanosleep(&moment, NULL);
	return 0;
}

/* Paths that are and are not there, reads and writes of known sizes. */
static int do_files(void)
{
	char room[4096] = "";
	int fd;

	for (int i = 0; i < SOME; i++) {
		fd = open("/dev/zero", O_RDONLY | O_CLOEXEC);
		if (fd < 0 || read(fd, room, 1234) != 1234 || close(fd))
			return 1;
		if (open("/nowhere/at/all", O_RDONLY | O_CLOEXEC) >= 0 || errno != ENOENT)
			return 1;
	}
	return 0;
}

static void *flood(void *argument)
{
	int fd = open("/dev/null", O_WRONLY | O_CLOEXEC);

	for (long i = *(const long *)argument; fd >= 0 && i; i--)
		syscall(SYS_write, fd, "", 0);
	return NULL;
}

/* Two threads that write a million times each, as fast as they can. */
static int do_flood(void)
{
	pthread_t thread;
	long count = 1000000;

	if (pthread_create(&thread, NULL, flood, &count))
		return 1;
	flood(&count);
	return pthread_join(thread, NULL);
}

static const struct {
	const char *name;
	int (*run)(void);
} ways[] = {
	{"compat", do_compat}, {"restart", do_restart}, {"vfork", do_vfork},
	{"open", do_open},     {"files", do_files},     {"flood", do_flood},
};

int main(int argc, char **argv)
{
	for (size_t i = 0; argc == 2 && i < sizeof(ways) / sizeof(ways[0]); i++)
		if (!strcmp(argv[1], ways[i].name))
			return ways[i].run();
	fprintf(stderr, "Usage: calls compat|restart|vfork|open|files|flood\n");
	return 2;
}
