/* SPDX-License-Identifier: BSD-2-Clause */
/* hungry.c: loads more than the memory that its control group has. */
#include <stdlib.h>
#include <string.h>

static __attribute__((noinline)) size_t load_all(size_t blocks)
{
	size_t kept = 0;

	for (size_t i = 0; i < blocks; i++) {
		char *block = malloc(1 << 20);

		if (!block)
			return kept;
		for (int round = 0; round < 60; round++)
			memset(block, round + (int)i, 1 << 20);
		kept += (size_t)block[7];
	}
	return kept;
}

int main(void)
{
	return load_all(4000) == 1;
}
