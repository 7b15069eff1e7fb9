/* SPDX-License-Identifier: BSD-2-Clause */
/* named.c: spins in code that it makes at run time, which keeps a frame pointer and has no name. */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#ifdef SECTION
__attribute__((section(SECTION), used)) static char section[64] = "something";
#endif
#ifdef TEXT
__attribute__((used)) static const char text[] = "a constant: " TEXT;
#endif

static double cpu_time(void)
{
	struct timespec now;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

int main(int argc, char **argv)
{
	/* push %rbp; mov %rsp,%rbp; mov %rdi,%rcx; dec %rcx; jnz -5; pop %rbp; ret */
	static const unsigned char code[] = {0x55, 0x48, 0x89, 0xe5, 0x48, 0x89, 0xf9,
					     0x48, 0xff, 0xc9, 0x75, 0xfb, 0x5d, 0xc3};
	double seconds = argc > 1 ? atof(argv[1]) : 1;
	void (*made)(long);
	void *memory = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (memory == MAP_FAILED)
		return 1;
	memcpy(memory, code, sizeof(code));
	memcpy(&made, &memory, sizeof(made));
	while (cpu_time() < seconds)
		made(100000);
	return 0;
}
