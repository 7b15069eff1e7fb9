/* SPDX-License-Identifier: BSD-2-Clause */
/* faults.c: a buffer is mapped, touched and given back for each request. */
#include <stddef.h>
#include <stdio.h>
#include <sys/mman.h>

static __attribute__((noinline)) long fill_buffer(size_t size)
{
	char *buffer = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	long sum = 0;

	for (size_t i = 0; i < size; i += 4096)
		sum += buffer[i]++;
	munmap(buffer, size);
	return sum;
}

int main(void)
{
	long sum = 0;

	for (int i = 0; i < 150; i++)
		sum += fill_buffer(32 << 20);
	printf("%ld\n", sum);
	return 0;
}
