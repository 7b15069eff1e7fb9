/* SPDX-License-Identifier: BSD-2-Clause */
/* healthy_sort.cpp: reads numbers, sorts them, and writes them. */
#include <algorithm>
#include <cstdio>
#include <fstream>
#include <random>
#include <vector>

int main()
{
	std::mt19937 random(7);
	std::vector<unsigned> numbers(1500000);
	std::ofstream out("numbers");

	for (auto &number : numbers)
		number = random();
	std::sort(numbers.begin(), numbers.end());
	for (auto number : numbers)
		out << number << '\n';
}
