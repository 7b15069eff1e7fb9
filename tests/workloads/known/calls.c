/* SPDX-License-Identifier: BSD-2-Clause */
/* calls.c: the system calls of `known`, made raw and counted one by one. */
/*
 * libc is not asked: it might make another call than the one that was named
 * (nanosleep(3) is clock_nanosleep(2)), or none at all. Every result is checked,
 * because a call that is restarted or fails would make the counts a lie.
 */
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "known.h"

/* At --calls 1, all threads together. */
enum {
	N_GETPPID = 20000,
	N_READ = 5000,
	N_WRITE = 5000,
	N_OPEN = 1000,   /* each is closed again */
	N_MISSING = 500, /* openat of a file that does not exist */
	N_SLEEP = 40,
	SLEEP_NS = 1000000,
};

static long call(struct worker *worker, enum call which, long result)
{
	worker->calls[which]++;
	if (result < 0)
		worker->call_errors[which]++;
	return result;
}

static void check(int correct, const char *name)
{
	if (!correct)
		die("%s did not do what it must", name);
}

/* This thread's part of `total` calls. */
static uint64_t share(const struct worker *worker, uint64_t total)
{
	uint64_t threads = worker->known->threads;
	total *= worker->known->calls;
	return total / threads + (worker->index == 0 ? total % threads : 0);
}

static int open_file(struct worker *worker, const char *path, int flags)
{
	return (int)call(worker, CALL_OPENAT, syscall(SYS_openat, AT_FDCWD, path, flags, 0));
}

static void close_file(struct worker *worker, int fd)
{
	check(call(worker, CALL_CLOSE, syscall(SYS_close, fd)) == 0, "close");
}

static void read_and_write(struct worker *worker)
{
	char buffer[64];
	int zero = open_file(worker, "/dev/zero", O_RDONLY | O_CLOEXEC);
	int null = open_file(worker, "/dev/null", O_WRONLY | O_CLOEXEC);
	check(zero >= 0 && null >= 0, "openat");
	for (uint64_t i = share(worker, N_READ); i > 0; i--) {
		long size = syscall(SYS_read, zero, buffer, sizeof(buffer));
		check(call(worker, CALL_READ, size) == sizeof(buffer), "read");
	}
	for (uint64_t i = share(worker, N_WRITE); i > 0; i--) {
		long size = syscall(SYS_write, null, buffer, sizeof(buffer));
		check(call(worker, CALL_WRITE, size) == sizeof(buffer), "write");
	}
	close_file(worker, null);
	close_file(worker, zero);
}

static void open_and_close(struct worker *worker)
{
	for (uint64_t i = share(worker, N_OPEN); i > 0; i--) {
		int fd = open_file(worker, "/dev/null", O_RDONLY | O_CLOEXEC);
		check(fd >= 0, "openat");
		close_file(worker, fd);
	}
	for (uint64_t i = share(worker, N_MISSING); i > 0; i--)
		check(open_file(worker, "/nonexistent/file", O_RDONLY | O_CLOEXEC) < 0, "openat");
}

NAMED_FUNCTION static void do_syscalls(struct worker *worker)
{
	const struct timespec pause = {.tv_nsec = SLEEP_NS};
	for (uint64_t i = share(worker, N_GETPPID); i > 0; i--)
		check(call(worker, CALL_GETPPID, syscall(SYS_getppid)) >= 0, "getppid");
	read_and_write(worker);
	open_and_close(worker);
	for (uint64_t i = share(worker, N_SLEEP); i > 0; i--) {
		long err = syscall(SYS_nanosleep, &pause, NULL);
		check(call(worker, CALL_NANOSLEEP, err) == 0, "nanosleep");
		worker->slept_ns += SLEEP_NS;
	}
}

void call_kernel(struct worker *worker)
{
	uint64_t start = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	if (!worker->known->calls)
		return;
	do_syscalls(worker);
	worker->cpu_ns[DO_SYSCALLS] += clock_ns(CLOCK_THREAD_CPUTIME_ID) - start;
}
