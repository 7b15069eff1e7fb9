/* SPDX-License-Identifier: BSD-2-Clause */
/* situations.c: stays in a situation that is hard for a walker, until it is killed. */
/*
 *	situations signal|altstack|timer|vdso|plt|thread|clone|longjmp|illegal|noreturn
 */
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static volatile uint64_t sink;
static jmp_buf place;

__attribute__((noinline, used)) static void spin(void)
{
	for (;;)
		sink++;
}

/*
 * The only call of last_call() is its last instruction: its return address is
 * where before() begins, of which other rules hold. So does the byte before
 * illegal(), which is interrupted at its first one.
 */
__asm__(".text\n"
	".type last_call, @function\n"
	"last_call:\n"
	".cfi_startproc\n"
	"	sub $40, %rsp\n"
	".cfi_adjust_cfa_offset 40\n"
	"	call spin\n"
	".cfi_endproc\n"
	".type before, @function\n"
	"before:\n"
	".cfi_startproc\n"
	".cfi_def_cfa_offset 4096\n"
	"	nop\n"
	".cfi_endproc\n"
	".type illegal, @function\n"
	"illegal:\n"
	".cfi_startproc\n"
	"	ud2\n"
	"	ret\n"
	".cfi_endproc\n");
void last_call(void);
void illegal(void);

static void on_signal(int number, siginfo_t *info, void *context)
{
	(void)number;
	(void)info;
	(void)context;
	spin();
}

static int compare(const void *left, const void *right)
{
	return *(const int *)left - *(const int *)right;
}

static int compare_and_raise(const void *left, const void *right)
{
	raise(SIGUSR1);
	return compare(left, right);
}

/* The handler interrupts raise(), which qsort() of the C library called back into us for. */
static void raise_in_qsort(int flags)
{
	struct sigaction action = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO | flags};
	int numbers[] = {5, 3, 8, 1, 9, 2};

	sigaction(SIGUSR1, &action, NULL);
	qsort(numbers, 6, sizeof(numbers[0]), compare_and_raise);
}

static void in_signal(void)
{
	raise_in_qsort(0);
}

static void *raise_elsewhere(void *memory)
{
	stack_t stack = {.ss_sp = memory, .ss_size = 1 << 16};

	sigaltstack(&stack, NULL);
	raise_in_qsort(SA_ONSTACK);
	return NULL;
}

/* What is interrupted lies below the handler's stack, which is the greatest part of this frame. */
static void in_signal_elsewhere(void)
{
	uint8_t memory[1 << 16];
	pthread_t id;

	pthread_create(&id, NULL, raise_elsewhere, memory);
	pthread_join(id, NULL);
}

static void in_first_byte(void)
{
	struct sigaction action = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO};

	sigaction(SIGILL, &action, NULL);
	illegal();
}

/* The interrupted instruction is any: a timer chooses it. */
static void in_timer(void)
{
	struct sigaction action = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO};
	struct itimerspec in = {.it_value.tv_nsec = 20000000};
	timer_t timer;

	sigaction(SIGALRM, &action, NULL);
	timer_create(CLOCK_MONOTONIC, NULL, &timer);
	timer_settime(timer, 0, &in, NULL);
	for (;;) {
		int numbers[64];

		for (int i = 0; i < 64; i++)
			numbers[i] = rand() % 1000;
		qsort(numbers, 64, sizeof(numbers[0]), compare);
	}
}

static void in_vdso(void)
{
	struct timespec now;

	for (;;)
		clock_gettime(CLOCK_MONOTONIC, &now);
}

static void in_plt(void)
{
	for (;;)
		sink += (uint64_t)atoi("12");
}

static void *thread(void *argument)
{
	spin();
	return argument;
}

static void in_thread(void)
{
	pthread_t id;

	pthread_create(&id, NULL, thread, NULL);
	pthread_join(id, NULL);
}

static int cloned(void *argument)
{
	(void)argument;
	spin();
	return 0;
}

static void in_clone(void)
{
	static uint8_t memory[1 << 16] __attribute__((aligned(16)));

	clone(cloned, memory + sizeof(memory),
	      CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD, NULL);
	for (;;)
		pause();
}

__attribute__((noinline)) static void jump(int depth)
{
	volatile char room[128];

	room[depth] = (char)depth;
	if (depth)
		jump(depth - 1);
	else if (!sink++)
		longjmp(place, 1);
	sink += (uint64_t)room[depth];
}

static void in_longjmp(void)
{
	if (!setjmp(place))
		jump(30);
	spin();
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*enter)(void);
	} situations[] = {
		{"signal", in_signal},
		{"altstack", in_signal_elsewhere},
		{"timer", in_timer},
		{"vdso", in_vdso},
		{"plt", in_plt},
		{"thread", in_thread},
		{"clone", in_clone},
		{"longjmp", in_longjmp},
		{"illegal", in_first_byte},
		{"noreturn", last_call},
	};

	for (size_t i = 0; argc == 2 && i < sizeof(situations) / sizeof(*situations); i++)
		if (!strcmp(argv[1], situations[i].name))
			situations[i].enter();
	fprintf(stderr, "usage: situations NAME\n");
	return 2;
}
