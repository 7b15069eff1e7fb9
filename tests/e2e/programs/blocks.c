/* SPDX-License-Identifier: BSD-2-Clause */
/* blocks.c: takes memory from malloc() in known amounts, and in situations that are hard for those
 * who watch. */
/*
 * blocks MODE [COUNT]: prints, as JSON, what each function took, and what is alive in the end. A
 * block that gets another size is a new one of that size. Status 1: a block was not what it should
 * be.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <unistd.h>

enum { SMALL = 96, KEEP = 100, RING = 4096, THREADS = 200 };

static unsigned long small_bytes, large_bytes, grown_bytes, live_bytes;
static void *volatile keeper;

static void expect(int right)
{
	if (!right)
		_exit(1);
}

/* --- places that take memory ------------------------------------------------- */

__attribute__((noinline)) static char *take_small(void)
{
	char *volatile block = malloc(SMALL);

	*block = 1;
	small_bytes += SMALL;
	return block;
}

__attribute__((noinline)) static void take_large(unsigned long i)
{
	size_t size = 2000 + i % 3000;
	char *volatile block = calloc(1, size);

	expect(!block[0] && !block[size - 1]);
	memset(block, 1, size);
	large_bytes += size;
	free(block);
}

__attribute__((noinline)) static void grow(void)
{
	char *block = NULL;

	for (size_t size = 16; size <= 65536; size *= 2) {
		block = realloc(block, size);
		expect(size == 16 || block[size / 2 - 1] == (char)(size / 2));
		block[size - 1] = (char)size;
		grown_bytes += size;
	}
	free(block);
}

/* --- modes ------------------------------------------------------------------- */

/* One small block in KEEP is kept. */
static void known(unsigned long count)
{
	for (unsigned long i = 0; i < count; i++) {
		char *block = take_small();

		if (i % KEEP == 0) {
			keeper = block;
			live_bytes += SMALL;
		} else {
			free(block);
		}
		if (i % 10 == 0)
			take_large(i);
		if (i % 1000 == 0)
			grow();
	}
}

static void leak(unsigned long count)
{
	while (count--)
		keeper = take_small();
	live_bytes = small_bytes;
}

static char *ring[RING];
static size_t taken, freed;

static void *consume(void *count)
{
	for (size_t i = 0; i < (size_t)count; i++) {
		while (__atomic_load_n(&taken, __ATOMIC_ACQUIRE) == i)
			sched_yield();
		free(ring[i % RING]);
		__atomic_store_n(&freed, i + 1, __ATOMIC_RELEASE);
	}
	return NULL;
}

/* Another thread frees. */
static void handover(unsigned long count)
{
	pthread_t consumer;

	pthread_create(&consumer, NULL, consume, (void *)count);
	for (size_t i = 0; i < count; i++) {
		while (i - __atomic_load_n(&freed, __ATOMIC_ACQUIRE) >= RING)
			sched_yield();
		ring[i % RING] = take_small();
		__atomic_store_n(&taken, i + 1, __ATOMIC_RELEASE);
	}
	pthread_join(consumer, NULL);
}

static pthread_key_t key;

static void at_thread_end(void *block)
{
	free(block);
	free(malloc(100000));
}

static void *live_shortly(void *count)
{
	pthread_setspecific(key, malloc(200000));
	for (size_t i = 0; i < (size_t)count; i++)
		free(take_small());
	return NULL;
}

/* Threads that begin and end, one after the other. */
static void threads(unsigned long count)
{
	pthread_t thread;

	pthread_key_create(&key, at_thread_end);
	for (int i = 0; i < THREADS; i++) {
		pthread_create(&thread, NULL, live_shortly, (void *)(count / THREADS));
		pthread_join(thread, NULL);
	}
}

static volatile int going = 1;

static void *work(void *nothing)
{
	for (unsigned i = 0; going; i++)
		free(malloc(i % 40000));
	return nothing;
}

/* Forks while another thread allocates: the child frees what is the parent's, and takes its own. */
static void forks(unsigned long count)
{
	char *blocks[64];
	pthread_t worker;
	int status;

	for (size_t i = 0; i < 64; i++)
		blocks[i] = malloc(1 << 20);
	pthread_create(&worker, NULL, work, NULL);
	for (unsigned long n = 0; n < count; n++) {
		pid_t child = fork();

		if (child == 0) {
			for (size_t i = 0; i < 64; i++)
				free(blocks[i]);
			for (size_t i = 0; i < 64; i++)
				expect((blocks[i] = calloc(1, 1 << 20)) && !blocks[i][1 << 19]);
			_exit(0);
		}
		expect(waitpid(child, &status, 0) == child && status == 0);
	}
	going = 0;
	pthread_join(worker, NULL);
	live_bytes = 64 << 20;
}

static volatile unsigned long interrupted;

static void on_alarm(int signal)
{
	(void)signal;
	interrupted++;
	free(malloc(100000));
}

/* A signal handler allocates, which is not allowed and is done; `going` is what it may interrupt.
 */
static void signals(unsigned long count)
{
	const struct itimerval often = {{0, 200}, {0, 200}};

	signal(SIGALRM, on_alarm);
	setitimer(ITIMER_REAL, &often, NULL);
	for (unsigned long i = 0; i < count; i++) {
		sigset_t set;
		void *block;

		/* The C library's own locks must not be interrupted. */
		sigemptyset(&set);
		sigaddset(&set, SIGALRM);
		sigprocmask(SIG_BLOCK, &set, NULL);
		block = malloc(i % 3000);
		sigprocmask(SIG_UNBLOCK, &set, NULL);
		sigprocmask(SIG_BLOCK, &set, NULL);
		free(block);
		sigprocmask(SIG_UNBLOCK, &set, NULL);
	}
	signal(SIGALRM, SIG_IGN);
	expect(interrupted > 0);
}

/* All forms, all alignments, sizes up to `most`, which some have twice. */
static void forms(unsigned long most)
{
	for (size_t alignment = 8; alignment <= 1 << 21; alignment *= 2) {
		void *block;

		expect(!posix_memalign(&block, alignment, 100000) &&
		       (uintptr_t)block % alignment == 0 && malloc_usable_size(block) >= 100000);
		memset(block, 1, malloc_usable_size(block));
		free(block);
		block = aligned_alloc(alignment, 3 * alignment);
		expect((uintptr_t)block % alignment == 0);
		block = realloc(block, 10);
		free(block);
	}
	for (size_t size = 1; size <= most; size *= 4) {
		char *block = malloc(size);

		block[0] = block[size - 1] = 7;
		block = realloc(block, size + size / 2);
		expect(block[0] == 7 && block[size - 1] == 7);
		block = reallocarray(block, size, 2);
		expect(block[0] == 7 && block[size - 1] == 7);
		free(block);
		block = calloc(size, 1);
		expect(block[size / 2] == 0);
		free(block);
	}
	keeper = valloc(300000);
	expect((uintptr_t)keeper % 4096 == 0);
	free(keeper);
	keeper = pvalloc(300000);
	expect((uintptr_t)keeper % 4096 == 0 && malloc_usable_size(keeper) >= 303104);
	free(keeper);
	expect(!malloc((size_t)PTRDIFF_MAX + 1) && errno == ENOMEM && !calloc(SIZE_MAX, 2) &&
	       !reallocarray(NULL, SIZE_MAX, 2) &&
	       posix_memalign((void **)&keeper, 3, 8) == EINVAL);
	keeper = malloc(1 << 20);
	keeper = realloc(keeper, 0);
	free(NULL);
}

/* The program closes all files, and forbids itself all system calls but a few. */
static void closed(unsigned long count)
{
#define ALLOW(name)                                             \
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_##name, 0, 1), \
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)
	static struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		ALLOW(mmap),
		ALLOW(munmap),
		ALLOW(mprotect),
		ALLOW(madvise),
		ALLOW(brk),
		ALLOW(mremap),
		ALLOW(write),
		ALLOW(newfstatat),
		ALLOW(exit_group),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
	};
	const struct sock_fprog program = {sizeof(filter) / sizeof(*filter), filter};

	/* It may ask the system for randomness once. */
	free(take_small());
	for (int fd = 3; fd < 1024; fd++)
		close(fd);
	close(0);
	close(2);
	expect(!prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) &&
	       !prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program));
	known(count);
}

/* How much can be had under a limit of addresses? It must be nearly all. */
static void limited(unsigned long count)
{
	struct rlimit limit;
	size_t have = 0;

	(void)count;
	getrlimit(RLIMIT_AS, &limit);
	while ((keeper = malloc(1 << 20)))
		have += 1 << 20;
	expect(have > limit.rlim_cur / 10 * 8);
}

static const struct {
	const char *name;
	void (*run)(unsigned long count);
} modes[] = {
	{"known", known},     {"leak", leak},     {"handover", handover},
	{"threads", threads}, {"forks", forks},   {"signals", signals},
	{"forms", forms},     {"closed", closed}, {"limited", limited},
};

int main(int argc, char **argv)
{
	static char printed[256]; /* in place of one that would be alive */
	unsigned long count = argc > 2 ? strtoul(argv[2], NULL, 0) : 0;

	setvbuf(stdout, printed, _IOFBF, sizeof(printed));
	for (size_t i = 0; argc > 1 && i < sizeof(modes) / sizeof(*modes); i++) {
		if (strcmp(argv[1], modes[i].name))
			continue;
		modes[i].run(count);
		printf("{\"take_small\":%lu,\"take_large\":%lu,\"grow\":%lu,\"live\":%lu}\n",
		       small_bytes, large_bytes, grown_bytes, live_bytes);
		return 0;
	}
	return 2;
}
