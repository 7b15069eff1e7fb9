// SPDX-License-Identifier: BSD-2-Clause
/* shared_code.c: executes code in shared memory of a kind, which a perf map names `made_here`;
 * prints the path of that. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <time.h>
#include <unistd.h>

enum { BYTES = 1 << 16, PLACE = 1 << 12 };

/* push %rbp; mov %rsp,%rbp; dec %rdi; jnz -5; pop %rbp; ret */
static const unsigned char code[] = {0x55, 0x48, 0x89, 0xe5, 0x48, 0xff,
				     0xcf, 0x75, 0xfb, 0x5d, 0xc3};

static unsigned char *map_shared(int protection, int flags, int file)
{
	return mmap(NULL, BYTES, protection, MAP_SHARED | flags, file, 0);
}

/* Mapped twice: for writing, and for executing. */
static unsigned char *write_file(int file)
{
	unsigned char *writable;

	if (ftruncate(file, BYTES))
		return MAP_FAILED;
	writable = map_shared(PROT_READ | PROT_WRITE, 0, file);
	memcpy(writable + PLACE, code, sizeof(code));
	return map_shared(PROT_READ | PROT_EXEC, 0, file);
}

static unsigned char *make(const char *kind)
{
	unsigned char *memory;
	char path[64];
	int file;

	if (!strcmp(kind, "memfd"))
		return write_file(memfd_create("made", 0));
	if (!strcmp(kind, "file")) {
		snprintf(path, sizeof(path), "/dev/shm/made-%d", getpid());
		file = open(path, O_RDWR | O_CREAT | O_EXCL, 0600);
		unlink(path);
		return write_file(file);
	}
	if (!strcmp(kind, "zero"))
		return map_shared(PROT_READ | PROT_WRITE | PROT_EXEC, MAP_ANONYMOUS, -1);
	file = shmget(IPC_PRIVATE, BYTES, 0700);
	memory = shmat(file, NULL, SHM_EXEC);
	shmctl(file, IPC_RMID, NULL);
	return memory;
}

int main(int argc, char **argv)
{
	unsigned char *memory = make(argv[argc - 1]);
	void (*made)(unsigned long) = (void (*)(unsigned long))(memory + PLACE);
	char path[64];
	FILE *map;

	if (memory == MAP_FAILED)
		return 1;
	if (memcmp(memory + PLACE, code, sizeof(code)) != 0)
		memcpy(memory + PLACE, code, sizeof(code));
	snprintf(path, sizeof(path), "/tmp/perf-%d.map", getpid());
	map = fopen(path, "w");
	fprintf(map, "%lx %zx made_here\n", (unsigned long)made, sizeof(code));
	fclose(map);
	while (clock() < CLOCKS_PER_SEC / 2)
		made(1000000);
	puts(path);
	return 0;
}
