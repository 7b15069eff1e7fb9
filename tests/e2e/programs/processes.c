/* SPDX-License-Identifier: BSD-2-Clause */
/* processes.c: makes processes and threads in every way there is; each makes a known row of calls.
 */
/*
 *	processes WAY COUNT	WAY: fork vfork clone spawn threads reuse
 *	processes calls		what vfork and spawn execute: the calls alone
 *
 * Every process or thread that is made calls getsid() CALLS times. Its number
 * is printed for `reuse`, where all have the same one.
 */
#include <linux/sched.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { CALLS = 10, STACK_BYTES = 65536, AT_ONCE = 1000 };

extern char **environ;
static const char *self;

static void make_calls(void)
{
	for (int i = 0; i < CALLS; i++)
		getsid(0);
}

static void fail(const char *what)
{
	perror(what);
	exit(1);
}

static void wait_for(pid_t pid)
{
	int status;

	if (pid < 0)
		fail("cannot make a process");
	if (waitpid(pid, &status, __WALL) != pid || status)
		fail("a child failed");
}

static void by_fork(void)
{
	pid_t pid = fork();

	if (pid == 0) {
		make_calls();
		_exit(0);
	}
	wait_for(pid);
}

static void by_vfork(void)
{
	pid_t pid = vfork();

	if (pid == 0) {
		execl(self, self, "calls", (char *)NULL);
		_exit(1);
	}
	wait_for(pid);
}

static int child(void *unused)
{
	(void)unused;
	make_calls();
	return 0;
}

/* A process that shares the memory, as no library call makes one. */
static void by_clone(void)
{
	static char stack[STACK_BYTES] __attribute__((aligned(16)));

	wait_for(clone(child, stack + STACK_BYTES, CLONE_VM | SIGCHLD, NULL));
}

static void by_spawn(void)
{
	char *arguments[] = {(char *)self, "calls", NULL};
	pid_t pid;

	if (posix_spawn(&pid, self, NULL, NULL, arguments, environ))
		fail("posix_spawn");
	wait_for(pid);
}

/* The same number again and again: for that the kernel wants CAP_SYS_ADMIN. */
static void by_reuse(void)
{
	static pid_t again;
	struct clone_args args = {
		.exit_signal = SIGCHLD,
		.set_tid = again ? (uintptr_t)&again : 0,
		.set_tid_size = again != 0,
	};
	pid_t pid = (pid_t)syscall(SYS_clone3, &args, sizeof(args));

	if (pid == 0) {
		make_calls();
		_exit(0);
	}
	if (!again)
		printf("%d\n", pid);
	again = pid;
	wait_for(pid);
}

static pthread_barrier_t barrier;

static void *thread(void *unused)
{
	(void)unused;
	pthread_barrier_wait(&barrier); /* all are there at once */
	make_calls();
	return NULL;
}

static void by_threads(long count)
{
	static pthread_t threads[AT_ONCE];
	pthread_attr_t small;

	if (count < 1 || count > AT_ONCE)
		fail("too many threads");
	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, STACK_BYTES);
	pthread_barrier_init(&barrier, NULL, (unsigned)count);
	for (long i = 0; i < count; i++)
		if (pthread_create(&threads[i], &small, thread, NULL))
			fail("pthread_create");
	for (long i = 0; i < count; i++)
		pthread_join(threads[i], NULL);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*make)(void);
	} ways[] = {{"fork", by_fork},
		    {"vfork", by_vfork},
		    {"clone", by_clone},
		    {"spawn", by_spawn},
		    {"reuse", by_reuse}};
	long count = argc > 2 ? strtol(argv[2], NULL, 10) : 1;

	self = argv[0];
	if (argc > 1 && !strcmp(argv[1], "calls")) {
		make_calls();
		return 0;
	}
	if (argc > 1 && !strcmp(argv[1], "threads")) {
		by_threads(count);
		return 0;
	}
	for (size_t i = 0; argc > 1 && i < sizeof(ways) / sizeof(ways[0]); i++) {
		if (strcmp(argv[1], ways[i].name) != 0)
			continue;
		while (count--)
			ways[i].make();
		return 0;
	}
	fprintf(stderr, "usage: processes WAY COUNT\n");
	return 2;
}
