/* SPDX-License-Identifier: BSD-2-Clause */
/* busy_poll.c: a pipe is read without waiting, until there is something. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <time.h>
#include <unistd.h>

static __attribute__((noinline)) int next_message(int fd)
{
	char message;

	while (read(fd, &message, 1) != 1)
		;
	return message;
}

int main(void)
{
	int fds[2], sum = 0;

	if (pipe2(fds, O_NONBLOCK) < 0)
		return 1;
	if (!fork()) {
		for (char i = 0; i < 80; i++) {
			nanosleep(&(struct timespec){.tv_nsec = 25000000}, NULL);
			if (write(fds[1], &i, 1) < 0)
				return 1;
		}
		return 0;
	}
	for (int i = 0; i < 80; i++)
		sum += next_message(fds[0]);
	return sum == 1;
}
