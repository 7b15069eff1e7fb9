/* SPDX-License-Identifier: BSD-2-Clause */
/* string_sum.cpp: a text grows by text = text + line. */
#include <cstdio>
#include <string>

__attribute__((noinline)) std::string render(int lines)
{
	std::string text;

	for (int i = 0; i < lines; i++)
		text = text + "a line of text that is put to the end\n";
	return text;
}

int main()
{
	std::printf("%zu\n", render(30000).size());
}
