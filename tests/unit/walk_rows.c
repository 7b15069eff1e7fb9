/* SPDX-License-Identifier: BSD-2-Clause */
/* walk_rows.c: walks of this program's own stack by unwind rows, compared with backtrace(3). */
#include <execinfo.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <sys/auxv.h>
#include <ucontext.h>
#include <unistd.h>

#include "test.h"
#include "symbols/unwind.h"

struct walk_window;

/* The walked memory is our own; what is below a page is as unreadable as anything. */
__attribute__((no_sanitize("address"))) static long walk_read(struct walk_window *window, void *to,
							      uint32_t size, uint64_t from)
{
	const volatile uint8_t *bytes = (const volatile uint8_t *)(uintptr_t)from;
	uint8_t *out = to;

	(void)window;
	if (from < 4096)
		return -14;
	for (uint32_t i = 0; i < size; i++)
		out[i] = bytes[i];
	return 0;
}

/* What is mapped here, with rows. */
struct walk_rows {
	unsigned count;
	struct {
		uint64_t start, end, bias;
		struct unwind_file *file;
	} modules[32];
};

static int walk_rule(struct walk_rows *rows, uint64_t ip, struct unwind_rule *rule)
{
	for (unsigned i = 0; i < rows->count; i++) {
		if (ip < rows->modules[i].start || ip >= rows->modules[i].end)
			continue;
		*rule = *unwind_find(rows->modules[i].file, ip - rows->modules[i].bias);
		return rule->cfa != UNWIND_CFA_NONE;
	}
	return 0;
}

#include "../../bpf/walk_native.h"

static struct walk_rows own_rows;

static int add_module(struct dl_phdr_info *info, size_t size, void *context)
{
	const char *path = info->dlpi_name[0] ? info->dlpi_name : "/proc/self/exe";
	struct walk_rows *rows = context;
	struct unwind_file *file;
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	(void)size;
	if (fd < 0 || rows->count == 32 || unwind_read(fd, &file))
		return 0;
	close(fd);
	rows->modules[rows->count].bias = info->dlpi_addr;
	rows->modules[rows->count].start = info->dlpi_addr + file->segments[0].address;
	rows->modules[rows->count].end = rows->modules[rows->count].start + file->segments[0].size;
	rows->modules[rows->count++].file = file;
	return 0;
}

#define FRAMES 128

static struct {
	uint64_t ips[FRAMES];
	unsigned count;
	uint32_t quality, guessed;
	void *expected[FRAMES];
	int n_expected;
	bool done;
} seen;

/* Walks from registers and has the C library do the same from where this is called. */
static void look(const ucontext_t *context)
{
	const greg_t *regs = context->uc_mcontext.gregs;
	struct walk_native walk;
	struct event_native frame;

	seen.n_expected = backtrace(seen.expected, FRAMES);
	walk_native_begin(&walk, (uint64_t)regs[REG_RIP], (uint64_t)regs[REG_RSP],
			  (uint64_t)regs[REG_RBP], (uint64_t)regs[REG_RBX]);
	seen.count = 0;
	while (seen.count < FRAMES && walk_native_find(&walk, &own_rows)) {
		walk_native_get(&walk, NULL, &frame);
		/* As others report it. */
		seen.ips[seen.count++] = frame.ip - (walk.count > 1 && !walk.called);
		if (!walk_native_up(&walk, NULL))
			break;
	}
	seen.quality = walk.quality;
	seen.guessed = walk.guessed;
	seen.done = true;
}

/* The frames from some depth on are the same; the innermost differ by where each began. */
static void check_same(void)
{
	unsigned common = 0;

	CHECK(seen.done);
	CHECK_EQ(seen.quality, 0);
	CHECK_EQ(seen.guessed, 0);
	while (common < seen.count && (int)common < seen.n_expected &&
	       seen.ips[seen.count - 1 - common] ==
		       (uint64_t)(uintptr_t)seen.expected[seen.n_expected - 1 - (int)common])
		common++;
	printf("%u walked, %d expected, %u the same\n", seen.count, seen.n_expected, common);
	CHECK(common >= 4 && common + 1 >= seen.count);
}

static int compare_here(const void *left, const void *right)
{
	ucontext_t context;

	if (!seen.done && !getcontext(&context))
		look(&context);
	return *(const int *)left - *(const int *)right;
}

static void sort_and_look(void)
{
	int numbers[] = {5, 3, 8, 1, 9, 2};

	qsort(numbers, 6, sizeof(numbers[0]), compare_here);
}

static void prepare(void)
{
	dl_iterate_phdr(add_module, &own_rows);
	CHECK(own_rows.count >= 3);
	/* The first call loads the unwinder's library. */
	backtrace(seen.expected, FRAMES);
}

TEST(through_code_of_libc_without_frame_pointers)
{
	prepare();
	sort_and_look();
	check_same();
}

static void on_signal(int number, siginfo_t *info, void *context)
{
	ucontext_t here;

	(void)number;
	(void)info;
	(void)context;
	if (!getcontext(&here))
		look(&here);
}

static void on_signal_interrupted(int number, siginfo_t *info, void *context)
{
	(void)number;
	(void)info;
	look(context);
}

static int compare_and_raise(const void *left, const void *right)
{
	if (!seen.done)
		raise(SIGUSR1);
	return *(const int *)left - *(const int *)right;
}

static void sort_and_raise(void (*handler)(int, siginfo_t *, void *), int flags)
{
	struct sigaction action = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO | flags};
	int numbers[] = {5, 3, 8, 1, 9, 2};

	CHECK_EQ(sigaction(SIGUSR1, &action, NULL), 0);
	qsort(numbers, 6, sizeof(numbers[0]), compare_and_raise);
}

TEST(from_where_a_signal_interrupted)
{
	prepare();
	sort_and_raise(on_signal_interrupted, 0);
	check_same();
}

TEST(out_of_a_signal_handler)
{
	prepare();
	sort_and_raise(on_signal, 0);
	check_same();
}

TEST(out_of_a_signal_handler_on_another_stack)
{
	static uint8_t memory[1 << 18];
	stack_t stack = {.ss_sp = memory, .ss_size = sizeof(memory)};

	prepare();
	CHECK_EQ(sigaltstack(&stack, NULL), 0);
	sort_and_raise(on_signal, SA_ONSTACK);
	check_same();
}

static void *in_thread(void *argument)
{
	sort_and_look();
	return argument;
}

TEST(to_the_begin_of_a_thread)
{
	pthread_t thread;

	prepare();
	CHECK_EQ(pthread_create(&thread, NULL, in_thread, NULL), 0);
	CHECK_EQ(pthread_join(thread, NULL), 0);
	check_same();
}
