/* SPDX-License-Identifier: BSD-2-Clause */
/* strcat.c: a text is built by strcat, which finds its end anew each time. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char report[4000000];

static __attribute__((noinline)) void build_report(int lines)
{
	*report = 0;
	for (int i = 0; i < lines; i++)
		strcat(report, "a line of the report that is added at its end\n");
}

int main(void)
{
	build_report(60000);
	printf("%zu\n", strlen(report));
	return 0;
}
