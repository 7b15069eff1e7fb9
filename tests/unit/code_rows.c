/* SPDX-License-Identifier: BSD-2-Clause */
/* code_rows.c: rows of code without frame information are those that compilers write for it. */
#include "test.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <gnu/libc-version.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "symbols/code_rows.h"
#include "symbols/unwind.h"

static struct unwind_file *rows_of(const uint8_t *code, size_t size, uint64_t address)
{
	struct unwind_builder *builder = unwind_builder_create();
	struct unwind_file *file = calloc(1, sizeof(*file));
	int err;

	CHECK(builder && file);
	CHECK_EQ(code_rows_add(code, size, address, builder), 0);
	err = unwind_builder_finish(builder, address, address + size, file);
	unwind_builder_free(builder);
	if (!err)
		return file;
	CHECK_EQ(err, -ENODATA);
	unwind_free(file);
	return NULL;
}

/* The C library, which has frame information of its compiler for nearly all. */
static const char *library(void)
{
	Dl_info info;

	CHECK(dladdr((const void *)(uintptr_t)&gnu_get_libc_version, &info));
	return info.dli_fname;
}

static struct unwind_file *truth_of(int fd)
{
	struct unwind_file *file = NULL;

	CHECK_EQ(unwind_read(fd, &file), 0);
	return file;
}

static const struct unwind_segment *largest(const struct unwind_file *file)
{
	const struct unwind_segment *segment = &file->segments[0];

	for (size_t i = 1; i < file->n_segments; i++)
		if (file->segments[i].size > segment->size)
			segment = &file->segments[i];
	return segment;
}

struct compared {
	uint64_t same, other;
};

static void compare(const struct unwind_file *file, const struct unwind_file *truth, size_t page,
		    struct compared *out)
{
	const unwind_row *rows = file->rows + file->starts[page];

	for (uint32_t i = 0; i < file->pages[page].count; i++) {
		uint64_t at = file->base + (page << UNWIND_PAGE_SHIFT) + (rows[i] & 0xffff);
		const struct unwind_rule *rule = unwind_find(file, at);
		const struct unwind_rule *wanted = unwind_find(truth, at);

		/* By another register, both may be right. */
		if (!rule->cfa || rule->cfa != wanted->cfa)
			continue;
		if (rule->cfa_offset == wanted->cfa_offset)
			out->same++;
		else
			out->other++;
	}
}

TEST(the_c_library_has_the_rows_that_its_compiler_wrote)
{
	int fd = open(library(), O_RDONLY | O_CLOEXEC);
	struct unwind_file *truth = truth_of(fd), *file;
	const struct unwind_segment *segment = largest(truth);
	uint8_t *code = malloc(segment->size);
	struct compared compared = {0};

	CHECK_EQ(pread(fd, code, segment->size, (off_t)segment->offset), segment->size);
	close(fd);
	file = rows_of(code, CODE_ROWS_BYTES_MAX, segment->address);
	for (size_t i = 0; i < file->n_pages; i++)
		compare(file, truth, i, &compared);
	CHECK(compared.same > 4000);
	CHECK(compared.other < compared.same / 500);
	unwind_free(file);
	unwind_free(truth);
	free(code);
}

#define ROWS(...) \
	rows_of((const uint8_t[]){__VA_ARGS__}, sizeof((const uint8_t[]){__VA_ARGS__}), 0x1000)

static int32_t depth(const struct unwind_file *file, uint64_t address)
{
	return unwind_find(file, address)->cfa_offset;
}

TEST(the_stack_pointer_is_followed)
{
	/* push %rbp; mov %rsp,%rbp; sub $32,%rsp; leave; ret */
	struct unwind_file *file = ROWS(0x55, 0x48, 0x89, 0xe5, 0x48, 0x83, 0xec, 0x20, 0xc9, 0xc3);

	CHECK_EQ(depth(file, 0x1000), 8);
	CHECK_EQ(depth(file, 0x1001), 16);
	CHECK_EQ(unwind_find(file, 0x1004)->bp_offset, -16);
	CHECK_EQ(depth(file, 0x1008), 48);
	CHECK_EQ(depth(file, 0x1009), 8);
	CHECK_EQ(unwind_find(file, 0x1009)->bp, UNWIND_SAME);
	unwind_free(file);
}

TEST(a_frame_pointer_is_used_where_the_stack_is_aligned)
{
	/* push %rbp; mov %rsp,%rbp; and $-16,%rsp; leave; ret */
	struct unwind_file *file = ROWS(0x55, 0x48, 0x89, 0xe5, 0x48, 0x83, 0xe4, 0xf0, 0xc9, 0xc3);

	CHECK_EQ(unwind_find(file, 0x1008)->cfa, UNWIND_CFA_BP);
	CHECK_EQ(depth(file, 0x1008), 16);
	unwind_free(file);
}

TEST(leaves_have_rows)
{
	/* pause; mov $1,%rax; test %rdi,%rdi; jne to the first; ret */
	struct unwind_file *file =
		ROWS(0xf3, 0x90, 0x48, 0xc7, 0xc0, 1, 0, 0, 0, 0x48, 0x85, 0xff, 0x75, 0xf2, 0xc3);

	for (uint64_t at = 0x1000; at < 0x100f; at++)
		CHECK_EQ(depth(file, at), 8);
	unwind_free(file);
}

TEST(what_a_signal_handler_returns_to_leads_to_the_saved_registers)
{
	/* ret; nop; mov $15,%rax; syscall */
	struct unwind_file *file = ROWS(0xc3, 0x90, 0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05);

	CHECK_EQ(depth(file, 0x1000), 8);
	/* The byte before it, where the walk looks for what called. */
	CHECK_EQ(unwind_find(file, 0x1001)->cfa, UNWIND_CFA_SP_DEREF | UNWIND_CFA_SIGNAL);
	CHECK_EQ(unwind_find(file, 0x1002)->cfa, UNWIND_CFA_SP_DEREF | UNWIND_CFA_SIGNAL);
	unwind_free(file);
}

/* Code that does not come back as it went is not what it seems to be. */
TEST(code_that_leaves_another_stack_has_no_rows)
{
	CHECK(!ROWS(0x55, 0xc3));                         /* push %rbp; ret */
	CHECK(!ROWS(0x48, 0x83, 0xc4, 0x08, 0xc3));       /* add $8,%rsp; ret */
	CHECK(!ROWS(0x06));                               /* no instruction */
	CHECK(!ROWS(0x90, 0x90));                         /* nop; nop */
	CHECK(!ROWS(0xff, 0x65, 0x00));                   /* jmp *(%rbp): of a Haskell program */
	CHECK(!ROWS(0x74, 0x01, 0x55, 0x90, 0xc3));       /* je; push %rbp; nop; ret */
	CHECK(!ROWS(0xe8, 0xfb, 0xff, 0xff, 0xff, 0x06)); /* calls itself; no instruction */
}

/* Each of its functions looks for the next one behind it, and there is none. */
TEST(hostile_code_takes_no_longer_than_other_code)
{
	static const uint8_t part[] = {0x50, 0xff, 0xe0, 0x06}; /* push %rax; jmp *%rax; nothing */
	uint8_t *code = malloc(CODE_ROWS_BYTES_MAX);
	clock_t began = clock();

	CHECK(code);
	for (size_t i = 0; i < CODE_ROWS_BYTES_MAX; i++)
		code[i] = part[i % sizeof(part)];
	CHECK(!rows_of(code, CODE_ROWS_BYTES_MAX, 0x1000));
	CHECK(clock() - began < 10 * CLOCKS_PER_SEC);
	free(code);
}
