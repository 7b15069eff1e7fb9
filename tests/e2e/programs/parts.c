/* SPDX-License-Identifier: BSD-2-Clause */
/* parts.c: threads that each wait for something else, and print for how long: THREAD PART NS. */
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

enum { TIMES = 40, NAP_US = 20000 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t work = PTHREAD_COND_INITIALIZER;
static int done, pipes[2], listener;
static struct sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = "parts.socket"};

static int64_t ns_of(clockid_t clock)
{
	struct timespec time;

	clock_gettime(clock, &time);
	return time.tv_sec * INT64_C(1000000000) + time.tv_nsec;
}

static void say(const char *thread, const char *part, int64_t ns)
{
	printf("%s %s %jd\n", thread, part, (intmax_t)ns);
}

static void *convoy(void *name)
{
	int64_t waited = 0, begin;

	pthread_setname_np(pthread_self(), name);
	for (int i = 0; i < TIMES; i++) {
		begin = ns_of(CLOCK_MONOTONIC);
		pthread_mutex_lock(&lock);
		waited += ns_of(CLOCK_MONOTONIC) - begin;
		usleep(NAP_US);
		pthread_mutex_unlock(&lock);
	}
	say(name, "lock", waited);
	return NULL;
}

static void *sleeper(void *name)
{
	int64_t begin = ns_of(CLOCK_MONOTONIC);

	pthread_setname_np(pthread_self(), name);
	for (int i = 0; i < TIMES; i++)
		usleep(NAP_US);
	say(name, "idle", ns_of(CLOCK_MONOTONIC) - begin);
	return NULL;
}

static void *worker(void *name)
{
	int64_t begin = ns_of(CLOCK_MONOTONIC);

	pthread_setname_np(pthread_self(), name);
	pthread_mutex_lock(&guard);
	while (!done)
		pthread_cond_wait(&work, &guard);
	pthread_mutex_unlock(&guard);
	say(name, "idle", ns_of(CLOCK_MONOTONIC) - begin);
	return NULL;
}

static void *reader(void *name)
{
	int64_t begin = ns_of(CLOCK_MONOTONIC);
	char byte;

	pthread_setname_np(pthread_self(), name);
	while (read(pipes[0], &byte, 1) > 0)
		;
	say(name, "process", ns_of(CLOCK_MONOTONIC) - begin);
	return NULL;
}

static void *spinner(void *name)
{
	int64_t end = 300000000;

	pthread_setname_np(pthread_self(), name);
	while (ns_of(CLOCK_THREAD_CPUTIME_ID) < end)
		for (volatile int i = 0; i < 500000; i++)
			;
	say(name, "own", ns_of(CLOCK_THREAD_CPUTIME_ID));
	return NULL;
}

/* What it waits for, the time in fsync() but for that on a CPU, depends on the disk. */
static void *syncer(void *name)
{
	int fd = open("parts.file", O_CREAT | O_RDWR, 0600);
	int64_t synced = 0, begin;

	pthread_setname_np(pthread_self(), name);
	for (int i = 0; i < 200; i++) {
		if (pwrite(fd, &begin, sizeof(begin), 0) < 0)
			return NULL;
		begin = ns_of(CLOCK_MONOTONIC);
		fsync(fd);
		synced += ns_of(CLOCK_MONOTONIC) - begin;
	}
	say(name, "disk", synced);
	return NULL;
}

static void *server(void *name)
{
	int64_t begin = ns_of(CLOCK_MONOTONIC), asleep;
	int peer = accept(listener, NULL, NULL);
	char byte;

	pthread_setname_np(pthread_self(), name);
	while (read(peer, &byte, 1) > 0) {
		usleep(NAP_US);
		if (write(peer, &byte, 1) < 0)
			return NULL;
	}
	asleep = ns_of(CLOCK_MONOTONIC) - begin;
	say(name, "idle", asleep);
	return NULL;
}

static void *client(void *name)
{
	int peer = socket(AF_UNIX, SOCK_STREAM, 0);
	int64_t begin, waited = 0;
	char byte = 0;

	pthread_setname_np(pthread_self(), name);
	connect(peer, (struct sockaddr *)&address, sizeof(address));
	for (int i = 0; i < TIMES; i++) {
		begin = ns_of(CLOCK_MONOTONIC);
		if (write(peer, &byte, 1) < 0 || read(peer, &byte, 1) < 0)
			return NULL;
		waited += ns_of(CLOCK_MONOTONIC) - begin;
	}
	close(peer);
	say(name, "network", waited);
	return NULL;
}

int main(void)
{
	static const struct {
		void *(*run)(void *);
		const char *name;
	} threads[] = {{convoy, "convoy-1"}, {convoy, "convoy-2"}, {sleeper, "sleeper"},
		       {worker, "worker"},   {reader, "reader"},   {spinner, "spinner"},
		       {syncer, "syncer"},   {server, "server"},   {client, "client"}};
	enum { THREADS = sizeof(threads) / sizeof(*threads) };
	pthread_t ids[THREADS];

	listener = socket(AF_UNIX, SOCK_STREAM, 0);
	if (pipe(pipes) || bind(listener, (struct sockaddr *)&address, sizeof(address)) ||
	    listen(listener, 1))
		return 1;
	for (int i = 0; i < THREADS; i++)
		pthread_create(&ids[i], NULL, threads[i].run, (void *)(uintptr_t)threads[i].name);
	for (int i = 0; i < THREADS; i++)
		if (threads[i].run != worker && threads[i].run != reader)
			pthread_join(ids[i], NULL);
	pthread_mutex_lock(&guard);
	done = 1;
	pthread_cond_signal(&work);
	pthread_mutex_unlock(&guard);
	close(pipes[1]);
	for (int i = 0; i < THREADS; i++)
		if (threads[i].run == worker || threads[i].run == reader)
			pthread_join(ids[i], NULL);
	return 0;
}
