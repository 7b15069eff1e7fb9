/* SPDX-License-Identifier: BSD-2-Clause */
/* timeit.c: runs a command and appends its wall and CPU nanoseconds and peak KiB to a file. */
/*
 * Used below `gcprof record` as well as alone, so that both sides of a ratio are
 * measured in the same way: from fork to the end of the command.
 */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static int64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

static int64_t to_ns(struct timeval time)
{
	return time.tv_sec * INT64_C(1000000000) + time.tv_usec * INT64_C(1000);
}

int main(int argc, char **argv)
{
	struct rusage usage;
	int64_t start;
	int status;
	pid_t child;
	FILE *out;

	if (argc < 3) {
		fprintf(stderr, "Usage: timeit FILE COMMAND [ARGUMENTS]\n");
		return 2;
	}
	start = now_ns();
	child = fork();
	if (child == 0) {
		execvp(argv[2], argv + 2);
		fprintf(stderr, "timeit: %s: %s\n", argv[2], strerror(errno));
		_exit(127);
	}
	if (child < 0 || wait4(child, &status, 0, &usage) != child) {
		perror("timeit");
		return 1;
	}
	out = fopen(argv[1], "a");
	if (!out) {
		perror(argv[1]);
		return 1;
	}
	fprintf(out, "%jd %jd %ld\n", (intmax_t)(now_ns() - start),
		(intmax_t)(to_ns(usage.ru_utime) + to_ns(usage.ru_stime)), usage.ru_maxrss);
	fclose(out);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
