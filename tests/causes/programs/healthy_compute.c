/* SPDX-License-Identifier: BSD-2-Clause */
/* healthy_compute.c: computes in several functions. */
#include <math.h>
#include <stdio.h>

#define STEP(name, f)                                          \
	static __attribute__((noinline)) double name(double x) \
	{                                                      \
		for (int i = 0; i < 200; i++)                  \
			x = f(x) + 1;                          \
		return x;                                      \
	}
STEP(rotate, sin)
STEP(scale, cos)
STEP(project, atan)
STEP(shade, tanh)

int main(void)
{
	double x = 1;

	for (int i = 0; i < 80000; i++)
		x = shade(project(scale(rotate(x))));
	printf("%g\n", x);
	return 0;
}
