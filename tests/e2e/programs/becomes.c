/* SPDX-License-Identifier: BSD-2-Clause */
/* becomes.c: executes another program while somebody looks for its control block. */
/*
 *	becomes ELF PROGRAM	maps ELF, whose control block would lie where PROGRAM has
 *				something; executes PROGRAM soon after ELF was opened
 *	becomes			is that program: has what looks like a block, and after three
 *				seconds writes what it holds
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../../../gc/provider/frame.h"

#define BASE ((void *)0x10000000) /* of ELF; the block lies as much behind it: see the linking */

static volatile struct gcprof_control block __attribute__((section(".block"), used)) = {
	.magic = GCPROF_CONTROL_MAGIC, .version = GCPROF_CONTROL_VERSION, .generation = 4096};

int main(int argc, char **argv)
{
	struct inotify_event event;
	int watch, fd;

	if (argc < 3) {
		sleep(3);
		printf("generation %llu recorded %u\n", (unsigned long long)block.generation,
		       block.recorded);
		return 0;
	}
	fd = open(argv[1], O_RDONLY | O_CLOEXEC);
	if (mmap(BASE, 0x2000, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_FIXED, fd, 0) != BASE)
		return 1;
	watch = inotify_init1(IN_CLOEXEC);
	if (watch < 0 || inotify_add_watch(watch, argv[1], IN_OPEN) < 0)
		return 1;
	fprintf(stderr, "ready\n");
	if (read(watch, &event, sizeof(event)) < 0)
		return 1;
	usleep(200000);
	execl(argv[2], argv[2], (char *)NULL);
	return 1;
}
