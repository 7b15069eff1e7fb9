/* SPDX-License-Identifier: BSD-2-Clause */
/* missing_files.c: a file is looked for in directories that do not have it. */
#include <stdio.h>
#include <sys/stat.h>

static __attribute__((noinline)) int find_header(int i)
{
	struct stat info;
	char path[64];
	int found = 0;

	for (int dir = 0; dir < 12; dir++) {
		snprintf(path, sizeof(path), "/usr/include/d%d/h%d.h", dir, i);
		found |= stat(path, &info) == 0;
	}
	return found;
}

int main(void)
{
	int found = 0;

	for (int i = 0; i < 60000; i++)
		found += find_header(i);
	return found;
}
