/* SPDX-License-Identifier: BSD-2-Clause */
/* realloc_each.c: an array grows by one element at a time. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static __attribute__((noinline)) char **read_rows(int n)
{
	char **rows = NULL;

	for (int i = 0; i < n; i++) {
		char **more = malloc((size_t)(i + 1) * sizeof(*rows));

		if (i)
			memcpy(more, rows, (size_t)i * sizeof(*rows));
		more[i] = NULL;
		free(rows);
		rows = more;
	}
	return rows;
}

int main(void)
{
	printf("%d\n", read_rows(45000) != NULL);
	return 0;
}
