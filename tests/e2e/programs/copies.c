/* SPDX-License-Identifier: BSD-2-Clause */
/* copies.c: a library that replaces a program's code by a copy: at its start, or when it is called.
 */
/*
 * COPY names the file whose code is copied, HOW the way: "move" copies to a new mapping and moves
 * that over the code; "back" maps new memory over the code and copies back, as slowly as on a
 * busy machine. Without COPY the caller
 * of copy() does it.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { MAPPINGS = 8 };

static void move(char *code, size_t size)
{
	char *copied = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	memcpy(copied, code, size);
	mprotect(copied, size, PROT_READ | PROT_EXEC);
	if (mremap(copied, size, size, MREMAP_MAYMOVE | MREMAP_FIXED, code) != code)
		abort();
}

static void back(char *code, size_t size)
{
	char *copied = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	memcpy(copied, code, size);
	if (mmap(code, size, PROT_READ | PROT_WRITE | PROT_EXEC,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != code)
		abort();
	memcpy(code, copied, size);
	usleep(1000000);
	mprotect(code, size, PROT_READ | PROT_EXEC);
}

/* The code of a file: where it begins and ends. Returns the number of its parts. */
static int find(const char *name, uintptr_t begin[MAPPINGS], uintptr_t end[MAPPINGS])
{
	char line[512], rights[8];
	FILE *maps = fopen("/proc/self/maps", "r");
	int n = 0;

	while (n < MAPPINGS && fgets(line, sizeof(line), maps))
		if (sscanf(line, "%lx-%lx %7s", &begin[n], &end[n], rights) == 3 &&
		    rights[2] == 'x' && strstr(line, name))
			n++;
	fclose(maps);
	return n;
}

void copy(const char *name, const char *how)
{
	uintptr_t begin[MAPPINGS], end[MAPPINGS];
	int n = find(name, begin, end);

	for (int i = 0; i < n; i++)
		(strcmp(how, "move") ? back : move)((char *)begin[i], end[i] - begin[i]);
}

void copy_without_end(const char *name)
{
	uintptr_t begin[MAPPINGS], end[MAPPINGS];
	int n = find(name, begin, end);

	for (;;)
		for (int i = 0; i < n; i++)
			move((char *)begin[i], end[i] - begin[i]);
}

__attribute__((constructor)) static void start(void)
{
	const char *name = getenv("COPY"), *how = getenv("HOW");

	if (name && how)
		copy(name, how);
}
