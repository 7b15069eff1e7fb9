/* SPDX-License-Identifier: BSD-2-Clause */
/* containers.cc: three functions that take all of their memory from containers. */
#include <cstdio>
#include <cstring>
#include <map>
#include <string>
#include <unistd.h>
#include <vector>

static std::vector<std::string> kept;
static std::map<int, std::vector<int>> indexed;
static void *volatile sink;

__attribute__((noinline)) static void leak_here()
{
	for (int i = 0; i < 4000; i++)
		kept.push_back(std::string(4000, 'x'));
}

__attribute__((noinline)) static void fine_here()
{
	for (int i = 0; i < 8000; i++) {
		std::string text(4000, 'y');

		sink = &text;
	}
}

__attribute__((noinline)) static void copy_here()
{
	for (int i = 0; i < 4000; i++) {
		indexed[i].resize(1000);
		sink = strdup(kept[0].c_str());
	}
}

int main()
{
	leak_here();
	fine_here();
	copy_here();
	fflush(nullptr);
	_exit(0);
}
