/* SPDX-License-Identifier: BSD-2-Clause */
/* big_buffers.c: each request allocates and frees a large buffer, which malloc() maps anew. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static __attribute__((noinline)) int handle(int i)
{
	char *buffer = malloc(40 << 20);

	memset(buffer, i, 40 << 20);
	i = buffer[i];
	free(buffer);
	return i;
}

int main(void)
{
	int sum = 0;

	for (int i = 0; i < 120; i++)
		sum += handle(i);
	printf("%d\n", sum);
	return 0;
}
