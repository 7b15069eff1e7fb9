/* SPDX-License-Identifier: BSD-2-Clause */
/* tiny_writes.c: a file is written byte by byte. */
#include <fcntl.h>
#include <unistd.h>

static __attribute__((noinline)) void write_letters(int fd, const char *text)
{
	for (; *text; text++)
		if (write(fd, text, 1) < 0)
			return;
}

int main(void)
{
	int fd = open("letters", O_CREAT | O_WRONLY | O_TRUNC, 0600);

	for (int i = 0; i < 50000; i++)
		write_letters(fd, "many small calls of write, one a letter\n");
	return 0;
}
