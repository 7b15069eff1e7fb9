/* SPDX-License-Identifier: BSD-2-Clause */
/* mapped.c: a mapped file, which is not in memory, is read here and there. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

enum { SIZE = 400 << 20 };

static __attribute__((noinline)) long look_up(const unsigned char *index, unsigned key)
{
	return index[(key * 2654435761u) % SIZE];
}

int main(void)
{
	int fd = open("index", O_CREAT | O_RDWR | O_TRUNC, 0600);
	static char block[1 << 20];
	unsigned char *index;
	long sum = 0;

	for (int i = 0; i < SIZE >> 20; i++)
		if (write(fd, block, sizeof(block)) < 0)
			return 1;
	fsync(fd);
	posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
	index = mmap(NULL, SIZE, PROT_READ, MAP_SHARED, fd, 0);
	madvise(index, SIZE, MADV_RANDOM);
	for (unsigned i = 0; i < 25000; i++)
		sum += look_up(index, i);
	printf("%ld\n", sum);
	return unlink("index");
}
