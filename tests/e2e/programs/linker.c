/* SPDX-License-Identifier: BSD-2-Clause */
/* linker.c: takes the place of a program's dynamic linker, and lists files that are none. */
/*
 * Linked statically. With --list PROGRAM it writes the lines of PROGRAM.list as if they
 * were libraries. It does not run the program.
 */
#include <stdio.h>
#include <string.h>

int main(int argc, char **argv)
{
	char path[4096], line[4096];
	FILE *list;

	if (argc < 3 || strcmp(argv[1], "--list") != 0)
		return 0;
	snprintf(path, sizeof(path), "%s.list", argv[2]);
	list = fopen(path, "re");
	while (list && fgets(line, sizeof(line), list)) {
		line[strcspn(line, "\n")] = '\0';
		printf("\tlibany.so => %s (0x00007f0000000000)\n", line);
	}
	return 0;
}
