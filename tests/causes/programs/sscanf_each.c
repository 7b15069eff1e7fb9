/* SPDX-License-Identifier: BSD-2-Clause */
/* sscanf_each.c: each number is read by sscanf(), which measures the rest of the text. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static long parse_prices(const char *text)
{
	long sum = 0;
	int value, used;
	while (sscanf(text, "%d,%n", &value, &used) == 1) {
		sum += value;
		text += used;
	}
	return sum;
}

int main(void)
{
	size_t n = 220000;
	char *text = malloc(n * 8 + 1), *p = text;
	for (size_t i = 0; i < n; i++)
		p += sprintf(p, "%zu,", i % 100000);
	printf("%ld\n", parse_prices(text));
}
