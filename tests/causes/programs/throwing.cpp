/* SPDX-License-Identifier: BSD-2-Clause */
/* throwing.cpp: a key that is missing is told by an exception. */
#include <cstdio>
#include <map>
#include <stdexcept>
#include <string>

static std::map<std::string, int> prices = {{"apple", 1}};

__attribute__((noinline)) int price_of(const std::string &name)
{
	try {
		return prices.at(name);
	} catch (const std::out_of_range &) {
		return 0;
	}
}

int main()
{
	int sum = 0;

	for (int i = 0; i < 700000; i++)
		sum += price_of("pear");
	std::printf("%d\n", sum);
}
