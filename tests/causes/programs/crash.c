/* SPDX-License-Identifier: BSD-2-Clause */
/* crash.c: a program that ends by a null pointer. */
#include <stddef.h>
#include <stdlib.h>

static __attribute__((noinline)) long parse(const unsigned char *text)
{
	long hash = 1;

	for (int i = 0; i < 400000000; i++)
		hash = hash * 31 + text[i % 16];
	return hash;
}

int main(int argc, char **argv)
{
	const char *missing = argc > 5 ? argv[5] : NULL;

	return parse((const unsigned char *)"0123456789abcdef") == 1
		       ? 0
		       : *(volatile const char *)missing;
}
