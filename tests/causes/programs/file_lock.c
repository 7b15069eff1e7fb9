/* SPDX-License-Identifier: BSD-2-Clause */
/* file_lock.c: processes wait for a lock on one file. */
#include <fcntl.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static __attribute__((noinline)) void update_index(int fd)
{
	flock(fd, LOCK_EX);
	nanosleep(&(struct timespec){.tv_nsec = 4000000}, NULL);
	flock(fd, LOCK_UN);
}

int main(void)
{
	for (int i = 0; i < 3; i++)
		if (!fork()) {
			int fd = open("index", O_CREAT | O_RDWR, 0600);

			for (int j = 0; j < 150; j++)
				update_index(fd);
			_exit(0);
		}
	while (wait(NULL) > 0)
		;
	return 0;
}
