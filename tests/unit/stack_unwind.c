/* SPDX-License-Identifier: BSD-2-Clause */
/* stack_unwind.c: tests of walks of copied stacks: this program's own, cut ones, nonsense. */
#include "test.h"

#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <link.h>
#include <sys/auxv.h>
#include <ucontext.h>
#include <unistd.h>

#include "symbols/stack_unwind.h"

/* A copy of the stack of whoever called take(). */
static struct {
	struct event_copy copy;
	unsigned char bytes[32768];
	void *expected[64]; /* of callers, as the C library finds them */
	int n_expected;
	int first; /* of them, for the caller of take() */
} taken;

/* The stack has places that sanitizers let nobody read. */
__attribute__((noinline, no_sanitize("address"))) static void copy_bytes(const unsigned char *from,
									 size_t size)
{
	for (size_t i = 0; i < size; i++)
		((volatile unsigned char *)taken.bytes)[i] = from[i];
}

static __attribute__((noinline)) void take(size_t size)
{
	/* ucontext's numbers in the order of struct event_copy. */
	static const int order[COPY_REGISTERS] = {
		REG_RAX, REG_RDX, REG_RCX, REG_RBX, REG_RSI, REG_RDI, REG_RBP, REG_RSP, REG_R8,
		REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15, REG_RIP,
	};
	ucontext_t context;

	taken.copy.size = (uint32_t)size;
	taken.n_expected = backtrace(taken.expected, 64);
	taken.first = 0;
	while (taken.expected[taken.first] != __builtin_return_address(0))
		taken.first++;
	getcontext(&context);
	for (int i = 0; i < COPY_REGISTERS; i++)
		taken.copy.registers[i] = (uint64_t)context.uc_mcontext.gregs[order[i]];
	taken.copy.address = taken.copy.registers[7];
	/* The stack began below what the kernel put there for the program. */
	if (taken.copy.size > getauxval(AT_RANDOM) - taken.copy.address)
		taken.copy.size = (uint32_t)(getauxval(AT_RANDOM) - taken.copy.address) & ~7u;
	copy_bytes((const unsigned char *)(uintptr_t)taken.copy.address, taken.copy.size);
}

static __attribute__((noinline)) int deep(int depth, size_t size)
{
	volatile char room[64] = {(char)depth};

	if (depth)
		return deep(depth - 1, size) + room[0];
	take(size);
	return room[0];
}

/* --- the modules of this program -------------------------------------------------------- */

static struct {
	struct frame_image *images[64];
	struct stack_module modules[64];
	size_t count;
} loaded;

static int add_module(struct dl_phdr_info *info, size_t size, void *context)
{
	const char *path = info->dlpi_name[0] ? info->dlpi_name : "/proc/self/exe";
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	(void)size;
	(void)context;
	if (fd < 0 || loaded.count == 64 || frame_image_open(fd, &loaded.images[loaded.count]))
		return 0;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *header = &info->dlpi_phdr[i];

		if (header->p_type == PT_LOAD && header->p_flags & PF_X)
			loaded.modules[loaded.count] = (struct stack_module){
				.start = info->dlpi_addr + header->p_vaddr,
				.end = info->dlpi_addr + header->p_vaddr + header->p_memsz,
				.bias = info->dlpi_addr,
				.image = loaded.images[loaded.count],
			};
	}
	loaded.count++;
	return 0;
}

static bool find(void *context, uint64_t ip, struct stack_module *out)
{
	(void)context;
	for (size_t i = 0; i < loaded.count; i++) {
		if (ip < loaded.modules[i].start || ip >= loaded.modules[i].end)
			continue;
		*out = loaded.modules[i];
		return true;
	}
	return false;
}

static struct stack_walk walk;

static void walk_taken(void)
{
	struct stack_unwinder *unwinder;

	if (!loaded.count)
		dl_iterate_phdr(add_module, NULL);
	CHECK_EQ(stack_unwinder_create(find, NULL, &unwinder), 0);
	stack_unwinder_walk(unwinder, &taken.copy, taken.bytes, &walk);
	/* The second time most comes from libunwind's memory. */
	stack_unwinder_walk(unwinder, &taken.copy, taken.bytes, &walk);
	stack_unwinder_free(unwinder);
	for (size_t i = 0; i < loaded.count; i++)
		frame_image_free(loaded.images[i]);
	loaded.count = 0;
}

/* The first frame is inside of take(). */
static void check_callers(void)
{
	for (unsigned i = 1; i < walk.count; i++)
		CHECK_EQ(walk.frames[i].ip, (uintptr_t)taken.expected[taken.first + (int)i - 1]);
}

TEST(a_copy_of_this_stack_has_the_callers_that_there_are)
{
	deep(10, 16384);
	walk_taken();
	CHECK_EQ(walk.quality, 0);
	CHECK_EQ(walk.guessed, 0);
	CHECK(taken.n_expected > 12);
	CHECK_EQ(walk.count, (unsigned)(1 + taken.n_expected - taken.first));
	check_callers();
	for (unsigned i = 1; i + 1 < walk.count; i++)
		CHECK(walk.frames[i].frame > walk.frames[i - 1].frame);
}

TEST(a_copy_that_is_too_short_gives_the_inner_callers)
{
	deep(50, 2048);
	walk_taken();
	CHECK_EQ(walk.quality, STACK_USER_CUT);
	CHECK(walk.cut_short);
	CHECK(walk.count > 3 && walk.count < 50);
	check_callers();
}

TEST(nothing_but_registers_gives_one_frame)
{
	deep(3, 0);
	walk_taken();
	CHECK_EQ(walk.count, 1);
	CHECK(walk.quality & STACK_USER_CUT);
}

TEST(an_instruction_in_no_file_ends_the_walk_and_says_so)
{
	deep(3, 4096);
	taken.copy.registers[16] = 0x123456789000;
	taken.copy.registers[6] = 0x10; /* rbp: no frame pointer */
	walk_taken();
	CHECK(walk.count >= 1);
	CHECK_EQ(walk.frames[0].ip, 0x123456789000);
	CHECK(walk.guessed >= 1);
	CHECK(walk.quality & STACK_USER_GUESSED);
	CHECK(walk.quality & (STACK_USER_END | STACK_USER_CUT));
}

TEST(no_instruction_is_no_stack)
{
	deep(3, 4096);
	taken.copy.registers[16] = 0;
	walk_taken();
	CHECK_EQ(walk.count, 0);
	CHECK_EQ(walk.quality, STACK_USER_FAILED);
}

TEST(random_stacks_end)
{
	uint64_t seed = test_seed();

	for (unsigned round = 0; round < 300; round++) {
		deep(5, 4096);
		for (unsigned i = 0; i < 40; i++)
			taken.bytes[test_random(&seed) % 4096] = (unsigned char)test_random(&seed);
		taken.copy.registers[6] ^= test_random(&seed) % 4096;
		walk_taken();
		CHECK(walk.count <= STACK_DEPTH_MAX);
	}
}

/* --- images -------------------------------------------------------------------------------- */

TEST(an_image_has_the_words_that_are_in_memory)
{
	static const uint64_t constant[3] = {1, UINT64_C(0x1122334455667788), 3};
	uint64_t low, high, word = 0, bias;
	struct stack_module module;

	dl_iterate_phdr(add_module, NULL);
	CHECK(find(NULL, (uintptr_t)take, &module));
	bias = module.bias;
	frame_image_extent(module.image, &low, &high);
	CHECK((uintptr_t)constant - bias >= low && (uintptr_t)constant - bias < high);
	CHECK(frame_image_word(module.image, (uintptr_t)&constant[1] - bias, &word));
	CHECK_EQ(word, UINT64_C(0x1122334455667788));
	CHECK(frame_image_table(module.image)->count > 10);
	CHECK(!frame_image_word(module.image, high + 4096, &word));
}

TEST(what_is_no_program_is_no_image)
{
	static const char text[] =
		"#!/bin/sh\nexit 0\n, and a bit more so that a header would fit in it.....";
	struct frame_image *image;

	CHECK_EQ(frame_image_open(open("/proc/self/maps", O_RDONLY | O_CLOEXEC), &image), -ENOEXEC);
	CHECK_EQ(frame_image_open(open("/etc/passwd", O_RDONLY | O_CLOEXEC), &image), -ENOEXEC);
	CHECK_EQ(frame_image_open_memory(text, sizeof(text), &image), -ENOEXEC);
	CHECK_EQ(frame_image_open_memory(text, 0, &image), -ENOEXEC);
}

TEST(damaged_programs_are_read_within_their_bounds)
{
	uint64_t seed = test_seed();
	static unsigned char original[1 << 16], damaged[1 << 16];
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	ssize_t size = read(fd, original, sizeof(original));

	close(fd);
	CHECK(size > 4096);
	for (unsigned round = 0; round < 2000; round++) {
		size_t cut = round % 3 ? (size_t)size : test_random(&seed) % (size_t)size;
		struct frame_image *image;
		uint64_t word, address;

		memcpy(damaged, original, (size_t)size);
		for (unsigned i = 0; i < 8; i++)
			damaged[test_random(&seed) % 1024] = (unsigned char)test_random(&seed);
		if (frame_image_open_memory(damaged, cut, &image))
			continue;
		for (unsigned i = 0; i < 50; i++) {
			frame_image_word(image, test_random(&seed) % 0x100000, &word);
			frame_image_address(image, test_random(&seed) % 0x100000, &address);
		}
		frame_image_free(image);
	}
}
