/* SPDX-License-Identifier: BSD-2-Clause */
/* popen_each.c: a shell is started for each date. */
#include <stdio.h>

static __attribute__((noinline)) int weekday(int day)
{
	char command[80], text[32] = "";
	FILE *file;

	snprintf(command, sizeof(command), "date -d 2024-01-%02d +%%a", day % 28 + 1);
	file = popen(command, "r");
	if (!file || !fgets(text, sizeof(text), file))
		return 1;
	return pclose(file);
}

int main(void)
{
	int failed = 0;

	for (int i = 0; i < 500; i++)
		failed += weekday(i);
	return failed;
}
