/* SPDX-License-Identifier: BSD-2-Clause */
/* abort.cpp: an exception that nobody catches. */
#include <cmath>
#include <cstdio>
#include <stdexcept>

__attribute__((noinline)) double simulate(int steps)
{
	double x = 1;

	for (int i = 0; i < steps; i++)
		x = std::sin(x) + 1;
	if (x > 0)
		throw std::runtime_error("the simulation diverged");
	return x;
}

int main()
{
	std::printf("%g\n", simulate(60000000));
}
