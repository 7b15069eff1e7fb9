/* SPDX-License-Identifier: BSD-2-Clause */
/* claims.c: computes for a while in a function whose name the compiler is told: claims SECONDS */
#include <stdlib.h>
#include <time.h>
__attribute__((noipa)) unsigned long work(unsigned long n)
{
	unsigned long sum = 0;
	while (n--)
		sum += n * n;
	return sum;
}
int main(int argc, char **argv)
{
	time_t end = time(NULL) + atoi(argv[1]);
	while (time(NULL) < end)
		work(1000000);
	return argc > 5;
}
