/* SPDX-License-Identifier: BSD-2-Clause */
/* healthy_blocks.c: a file in memory is read in large blocks. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
static char block[1 << 20];

static __attribute__((noinline)) unsigned char sum_file(int fd)
{
	unsigned char sum = 0;
	ssize_t n;
	lseek(fd, 0, SEEK_SET);
	while ((n = read(fd, block, sizeof(block))) > 0)
		for (ssize_t i = 0; i < n; i += 64)
			sum += (unsigned char)block[i];
	return sum;
}

int main(void)
{
	int fd = open("data", O_RDWR | O_CREAT | O_TRUNC, 0600);
	for (int i = 0; i < 256; i++)
		if (write(fd, block, sizeof(block)) < 0)
			return 1;
	unsigned sum = 0;
	for (int i = 0; i < 50; i++)
		sum += sum_file(fd);
	printf("%u\n", sum);
}
