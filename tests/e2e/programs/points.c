/* SPDX-License-Identifier: BSD-2-Clause */
/* points.c: a program that leads its recorder into a file: points WHAT FILE ELF OFFSET. */
/*
 *	control	its control block is in FILE
 *	names	it has a control block, whose names are in FILE
 *	title	part of its command line is in FILE
 *	nothing	it has a control block, and that is all
 *	race	the same; it notices that probes are being attached to ELF
 *
 * ELF says that its control block lies OFFSET bytes behind its begin. After SIGUSR1, or when it
 * notices that, the program reads FILE itself, by /proc/self/mem, which keeps its memory map
 *locked.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../../../gc/provider/frame.h"

#define BASE  ((char *)0x100000000000)
#define BYTES 65536
#define PAGE  ((uintptr_t)4096)
#define PROBE 0x1010 /* in ELF */
#define NOP   0x90

static void must(bool holds, const char *what)
{
	if (holds)
		return;
	perror(what);
	exit(1);
}

static char *map(void *at, size_t size, int protection, const char *path)
{
	int fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
	char *mapped = mmap(at, size, protection,
			    MAP_PRIVATE | (at ? MAP_FIXED : 0) | (path ? 0 : MAP_ANONYMOUS), fd, 0);

	must(mapped != MAP_FAILED, path ? path : "mmap");
	return mapped;
}

static void make_block(char *at, const char *names)
{
	const struct gcprof_control block = {.magic = GCPROF_CONTROL_MAGIC,
					     .version = GCPROF_CONTROL_VERSION,
					     .names = (uintptr_t)names};

	map(at, BYTES, PROT_READ | PROT_WRITE, NULL);
	memcpy(at, &block, sizeof(block));
}

/* A page of it must be the file's alone, so the command line becomes long. */
static void make_title(char **argv, int argc)
{
	char fill[4 * PAGE + 1] = "";
	char *arguments[] = {argv[0], argv[1], argv[2], argv[3], argv[4], fill, NULL};

	if (argc > 5) {
		map((void *)(((uintptr_t)argv[5] + PAGE - 1) & ~(PAGE - 1)), PAGE, PROT_READ,
		    argv[2]);
		return;
	}
	memset(fill, 'x', 4 * PAGE);
	execv("/proc/self/exe", arguments);
	must(false, "exec");
}

static void go_on(int number)
{
	(void)number;
}

/* Until the nop of the first probe has become a breakpoint. */
static void wait_for_probe(void)
{
	const volatile unsigned char *code = (unsigned char *)BASE + PROBE;

	while (*code == NOP)
		;
}

int main(int argc, char **argv)
{
	char *block, *file, byte;
	int memory;

	if (argc < 5)
		return 2;
	block = BASE + strtoull(argv[4], NULL, 0);
	map(BASE, 0x2000, PROT_READ | PROT_EXEC, argv[3]);
	if (!strcmp(argv[1], "control"))
		map(block, BYTES, PROT_READ | PROT_WRITE, argv[2]);
	else
		make_block(block,
			   strcmp(argv[1], "names") ? NULL : map(NULL, BYTES, PROT_READ, argv[2]));
	if (!strcmp(argv[1], "title"))
		make_title(argv, argc);
	signal(SIGUSR1, go_on);
	file = map(NULL, BYTES, PROT_READ, argv[2]);
	memory = open("/proc/self/mem", O_RDONLY | O_CLOEXEC);
	puts("ready");
	fflush(stdout);
	if (!strcmp(argv[1], "race"))
		wait_for_probe();
	else
		pause();
	(void)!pread(memory, &byte, 1, (off_t)(uintptr_t)file);
	return 0;
}
