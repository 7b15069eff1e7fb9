// SPDX-License-Identifier: BSD-2-Clause
/* sections.c: has the code by which PyPy is known, as another compiler might write it. */
/*
 * Each call loads the name of its section anew. It collects three times, and makes two steps of a
 * major collection. -DTWICE: one more collection has code of its own.
 */
void pypy_main_startup(void)
{
}

#define FUNCTION __attribute__((noipa)) static void

FUNCTION start(const char *name)
{
	__asm__ volatile("" : : "r"(name));
}

FUNCTION stop(const char *name)
{
	__asm__ volatile("nop" : : "r"(name));
}

/* No register keeps the name until the end. Something comes after it, so it is a call, no jump. */
#define SECTION(name)                                                                \
	do {                                                                         \
		start(name);                                                         \
		__asm__ volatile("" : : : "rbx", "rbp", "r12", "r13", "r14", "r15"); \
		stop(name);                                                          \
		__asm__ volatile("");                                                \
	} while (0)

FUNCTION collect(void)
{
	SECTION("gc-minor");
}

FUNCTION step(void)
{
	SECTION("gc-collect-step");
}

int main(void)
{
	for (int i = 0; i < 3; i++)
		collect();
	for (int i = 0; i < 2; i++)
		step();
#ifdef TWICE
	SECTION("gc-minor");
#endif
	return 0;
}
