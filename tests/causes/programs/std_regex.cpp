/* SPDX-License-Identifier: BSD-2-Clause */
/* std_regex.cpp: a std::regex is made in each call. */
#include <cstdio>
#include <regex>
#include <string>

__attribute__((noinline)) bool is_address(const std::string &text)
{
	return std::regex_match(text, std::regex("[a-z0-9._]+@([a-z0-9]+[.])+[a-z]{2,4}"));
}

int main()
{
	int valid = 0;

	for (int i = 0; i < 12000; i++)
		valid += is_address("somebody@example.com");
	std::printf("%d\n", valid);
}
