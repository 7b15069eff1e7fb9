// SPDX-License-Identifier: BSD-2-Clause
/* sections.c: has the code by which PyPy is known, as another compiler might write it. */
/*
 * Each call loads the name of its section anew. It collects three times, and makes two steps of a
 * major collection. -DTWICE: one more collection has code of its own. -DLISTS=N: code, never run,
 * that finds where the functions of a thread are listed, in N ways.
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

#ifdef LISTS
#define LIST(number)                                                                       \
	".byte 0x66; lea pair" number "(%rip), %rdi; .byte 0x66, 0x66, 0x48; call other\n" \
	"xor %edx, %edx; cmpl $42, (%rax); jne 1f; mov 72(%rax), %rdx; 1: ret\n"

__asm__(".bss; .balign 16; pair1: .skip 16; pair2: .skip 16; codes: .skip 80; .text; .skip 128, "
	"0x90\n"
	"other: ret\n" LIST("1")
#if LISTS > 1
		LIST("2")
#endif
			".skip 128, 0x90; lea codes(%rip), %r9; mov $7, %edx; mov $9, %r8d; cmp "
			"(%rax), %rdi; ret\n"
			/* Puts a function into the list and runs it; the second only puts one
			   there. */
			"movq $1, 16(%rbp); call other; mov %rbp, 72(%rax); call other; nop; ret\n"
			"movq $1, 16(%rbp); call other; mov %rbp, 72(%rax); ret\n"
			".skip 256, 0x90\n");
#endif

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
