/* SPDX-License-Identifier: BSD-2-Clause */
/* fills.c: does one thing without end: fills calls | fills mappings FILE */
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

/* System calls that there are not, each of another number. */
static void make_calls(void)
{
	for (long number = 1000;; number++)
		syscall(number);
}

static void map(int fd)
{
	for (;;) {
		void *code = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);

		munmap(code, 4096);
	}
}

int main(int argc, char **argv)
{
	if (argc > 1 && !strcmp(argv[1], "calls"))
		make_calls();
	else if (argc > 2)
		map(open(argv[2], O_RDONLY | O_CLOEXEC));
	return 2;
}
