/* SPDX-License-Identifier: BSD-2-Clause */
/* map_copy.cpp: a map is passed by value. */
#include <cstdio>
#include <map>
#include <string>
using Prices = std::map<std::string, double>;

__attribute__((noinline)) static double price_of(Prices prices, const std::string &name)
{
	auto found = prices.find(name);
	return found == prices.end() ? 0 : found->second;
}

int main()
{
	Prices prices;
	double sum = 0;
	for (int i = 0; i < 2000; i++)
		prices["article number " + std::to_string(i)] = i;
	for (int i = 0; i < 12000; i++)
		sum += price_of(prices, "article number " + std::to_string(i % 2000));
	printf("%f\n", sum);
}
