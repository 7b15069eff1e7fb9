/* SPDX-License-Identifier: BSD-2-Clause */
/* getppid.c: the tightest system call loop there is, for measuring the syscall stream. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	long calls = argc > 1 ? atol(argv[1]) : 2000000;

	if (calls <= 0) {
		fprintf(stderr, "Usage: getppid [CALLS]\n");
		return 2;
	}
	while (calls--)
		syscall(SYS_getppid);
	return 0;
}
