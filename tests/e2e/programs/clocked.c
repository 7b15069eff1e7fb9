/* SPDX-License-Identifier: BSD-2-Clause */
/* clocked.c: uses CPU time in ways that are hard to sample, and says how much it was. */
/*
 * clocked steps SECONDS: sleeps for 20 us and works a little, again and again: in step with timers.
 * clocked busy SECONDS: works all the time. clocked cpu SECONDS: until it has used that CPU time.
 * clocked threads ROUNDS: threads and processes that end within a millisecond, and one of each that
 * goes on. clocked wave THREADS: threads that work for a millisecond and wait until all have.
 * clocked tasks PROCESSES: processes whose memory takes the kernel longer to release than they
 * work. clocked wait SECONDS: uses so much when it gets SIGUSR1, then waits for SIGTERM.
 *
 * The last line of its output, in ns, by clocks of the kernel: CPU time of all its threads and
 * children, and of two functions, of which one works three times as much as the other; and what
 * passed while others seemed to have the CPU, which is not in the latter two.
 */
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline))

enum { TURN = 1000, SHORT = 100000, MANY = 4 };

static volatile uint64_t sink;
static uint64_t one_ns, two_ns, lost_ns;

static uint64_t now(clockid_t clock)
{
	struct timespec time;

	clock_gettime(clock, &time);
	return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

NOINLINE static void work_one(uint64_t n)
{
	for (uint64_t i = 0; i < n; i++)
		sink += i;
}

NOINLINE static void work_two(uint64_t n)
{
	for (uint64_t i = 0; i < n; i++)
		sink += 2 * i;
}

/*
 * Works once, on the clocks of both functions. To read CPU time takes a system call, which is as
 * long as the work; so the time that passes counts, unless others had the CPU meanwhile.
 */
static void work(uint64_t n)
{
	uint64_t begin = now(CLOCK_MONOTONIC), middle, end;

	work_one(n);
	middle = now(CLOCK_MONOTONIC);
	work_two(3 * n);
	end = now(CLOCK_MONOTONIC);
	if (end - begin > 50 * n) {
		lost_ns += end - begin;
		return;
	}
	one_ns += middle - begin;
	two_ns += end - middle;
}

static void work_for(double seconds, clockid_t clock, int sleep_us, uint64_t n)
{
	uint64_t end = now(clock) + (uint64_t)(seconds * 1e9);

	while (now(clock) < end) {
		if (sleep_us)
			usleep((useconds_t)sleep_us);
		work(n);
	}
}

static void *short_thread(void *rounds)
{
	(void)rounds;
	work_one(SHORT);
	return NULL;
}

/* Works as long as all those that end soon, by pieces. */
static void *long_thread(void *rounds)
{
	for (long i = 0; i < *(long *)rounds; i++)
		work_two(SHORT * MANY);
	return NULL;
}

static void make_threads(long rounds)
{
	pthread_t lasts, ends[MANY];
	pid_t child = fork();

	if (!child) {
		long_thread(&rounds);
		_exit(0);
	}
	pthread_create(&lasts, NULL, long_thread, &rounds);
	for (long round = 0; round < rounds; round++) {
		for (int i = 0; i < MANY; i++)
			pthread_create(&ends[i], NULL, short_thread, NULL);
		if (!fork()) {
			short_thread(NULL);
			_exit(0);
		}
		for (int i = 0; i < MANY; i++)
			pthread_join(ends[i], NULL);
	}
	pthread_join(lasts, NULL);
	while (wait(NULL) > 0)
		;
}

static pthread_barrier_t all;

static void *wave_thread(void *none)
{
	uint64_t begin;

	pthread_barrier_wait(&all);
	begin = now(CLOCK_THREAD_CPUTIME_ID);
	work_one(MANY * SHORT);
	__atomic_fetch_add(&one_ns, now(CLOCK_THREAD_CPUTIME_ID) - begin, __ATOMIC_RELAXED);
	pthread_barrier_wait(&all);
	return none;
}

static void make_wave(unsigned count)
{
	pthread_t *threads = calloc(count, sizeof(*threads));
	pthread_attr_t small;

	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, 65536);
	pthread_barrier_init(&all, NULL, count);
	for (unsigned i = 0; threads && i < count; i++) {
		if (pthread_create(&threads[i], &small, wave_thread, NULL))
			_exit(1);
	}
	for (unsigned i = 0; threads && i < count; i++)
		pthread_join(threads[i], NULL);
	free(threads);
}

static void make_tasks(long count)
{
	const size_t size = 16 << 20;
	pid_t child;

	for (long i = 0; i < count; i++) {
		child = fork();
		if (!child) {
			work_one(SHORT);
			if (mmap(NULL, size, PROT_READ | PROT_WRITE,
				 MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0) == MAP_FAILED)
				_exit(1);
			_exit(0);
		}
		waitpid(child, NULL, 0);
	}
}

static uint64_t children_ns(void)
{
	struct rusage used;

	getrusage(RUSAGE_CHILDREN, &used);
	return ((uint64_t)used.ru_utime.tv_sec + (uint64_t)used.ru_stime.tv_sec) * 1000000000 +
	       ((uint64_t)used.ru_utime.tv_usec + (uint64_t)used.ru_stime.tv_usec) * 1000;
}

static void wait_for(int signal)
{
	sigset_t set;
	int got;

	sigemptyset(&set);
	sigaddset(&set, signal);
	sigwait(&set, &got);
}

static void wait_and_work(double seconds)
{
	sigset_t set;
	uint64_t before;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigaddset(&set, SIGTERM);
	sigprocmask(SIG_BLOCK, &set, NULL);
	work_for(0.5, CLOCK_MONOTONIC, 0, TURN);
	one_ns = two_ns = 0;
	puts("ready");
	fflush(stdout);
	wait_for(SIGUSR1);
	before = now(CLOCK_PROCESS_CPUTIME_ID);
	work_for(seconds, CLOCK_PROCESS_CPUTIME_ID, 0, TURN);
	printf("worked cpu_ns=%llu\n",
	       (unsigned long long)(now(CLOCK_PROCESS_CPUTIME_ID) - before));
	fflush(stdout);
	wait_for(SIGTERM);
}

int main(int argc, char **argv)
{
	double amount = argc > 2 ? atof(argv[2]) : 1;

	if (argc > 1 && strcmp(argv[1], "steps") == 0)
		work_for(amount, CLOCK_MONOTONIC, 20, TURN);
	else if (argc > 1 && strcmp(argv[1], "busy") == 0)
		work_for(amount, CLOCK_MONOTONIC, 0, 4 * TURN);
	else if (argc > 1 && strcmp(argv[1], "cpu") == 0)
		work_for(amount, CLOCK_PROCESS_CPUTIME_ID, 0, 4 * TURN);
	else if (argc > 1 && strcmp(argv[1], "threads") == 0)
		make_threads((long)amount);
	else if (argc > 1 && strcmp(argv[1], "wave") == 0)
		make_wave((unsigned)amount);
	else if (argc > 1 && strcmp(argv[1], "tasks") == 0)
		make_tasks((long)amount);
	else if (argc > 1 && strcmp(argv[1], "wait") == 0)
		wait_and_work(amount);
	else
		return 2;
	printf("cpu_ns=%llu one_ns=%llu two_ns=%llu lost_ns=%llu\n",
	       (unsigned long long)(now(CLOCK_PROCESS_CPUTIME_ID) + children_ns()),
	       (unsigned long long)one_ns, (unsigned long long)two_ns, (unsigned long long)lost_ns);
	return 0;
}
