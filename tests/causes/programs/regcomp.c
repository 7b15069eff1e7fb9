/* SPDX-License-Identifier: BSD-2-Clause */
/* regcomp.c: a regular expression is compiled in each call. */
#include <regex.h>
#include <stdio.h>

static __attribute__((noinline)) int is_address(const char *text)
{
	regex_t regex;
	int no;

	regcomp(&regex, "^[a-z0-9._]+@([a-z0-9]+\\.)+[a-z]{2,4}$", REG_EXTENDED);
	no = regexec(&regex, text, 0, NULL, 0);
	regfree(&regex);
	return !no;
}

int main(void)
{
	int valid = 0;

	for (int i = 0; i < 30000; i++)
		valid += is_address("somebody@example.com");
	printf("%d\n", valid);
	return 0;
}
