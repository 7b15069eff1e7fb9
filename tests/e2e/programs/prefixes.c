/* SPDX-License-Identifier: BSD-2-Clause */
/* prefixes.c: a program without a collector, with functions that sound like one. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

static volatile unsigned long sink;

__attribute__((noinline)) static void *gc_user_alloc(size_t size)
{
	void *block = malloc(size);

	if (!block)
		abort();
	memset(block, 1, size);
	return block;
}

__attribute__((noinline)) static void gc_user_spin(void)
{
	clock_t end = clock() + CLOCKS_PER_SEC / 10;

	while (clock() < end)
		for (int i = 0; i < 100000; i++)
			sink += (unsigned long)i;
}

int main(void)
{
	for (int i = 0; i < 2000; i++)
		free(gc_user_alloc(10000));
	gc_user_spin();
	return 0;
}
