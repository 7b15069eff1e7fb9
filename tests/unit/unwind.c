/* SPDX-License-Identifier: BSD-2-Clause */
/* unwind.c: tests of unwind rows: hand-made frame information, and the searches. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "test.h"
#include "symbols/frame_info.h"
#include "symbols/unwind.h"

/* --- frame information by hand ------------------------------------------------------ */

struct bytes_made {
	uint8_t data[1024];
	size_t size;
};

static void put(struct bytes_made *to, const void *data, size_t size)
{
	memcpy(to->data + to->size, data, size);
	to->size += size;
}

/* Wraps a body into an entry: length, link, body, padding with nops. */
static void put_entry(struct bytes_made *to, uint32_t link, const void *body, size_t size)
{
	uint32_t length = (uint32_t)((4 + size + 7) & ~(size_t)7) + 4;
	size_t end = to->size + 4 + length;

	put(to, &length, 4);
	put(to, &link, 4);
	put(to, body, size);
	while (to->size < end)
		to->data[to->size++] = 0;
}

/* The usual common part: code in bytes, data in -8, pc-relative 4 bytes, CFA = rsp + 8. */
static void put_common(struct bytes_made *to, const char *letters)
{
	uint8_t body[32] = {1};
	size_t n = 1 + strlen(letters) + 1;
	const uint8_t tail[] = {1, 0x78, 16, 1, 0x1b, 0x0c, 7, 8, 0x90, 1};

	memcpy(body + 1, letters, strlen(letters) + 1);
	memcpy(body + n, tail, sizeof(tail));
	put_entry(to, 0, body, n + sizeof(tail));
}

#define SECTION_ADDRESS 0x10000

static void put_function(struct bytes_made *to, uint64_t begin, uint32_t size, const void *program,
			 size_t program_size)
{
	uint8_t body[128];
	int32_t distance = (int32_t)(begin - (SECTION_ADDRESS + to->size + 8));

	memcpy(body, &distance, 4);
	memcpy(body + 4, &size, 4);
	body[8] = 0;
	memcpy(body + 9, program, program_size);
	put_entry(to, (uint32_t)to->size + 4, body, 9 + program_size);
}

struct seen {
	uint64_t address[32];
	struct unwind_rule rule[32];
	unsigned count;
	int err;
};

static int see_rule(void *context, uint64_t address, const struct unwind_rule *rule)
{
	struct seen *seen = context;

	CHECK(seen->count < 32);
	seen->address[seen->count] = address;
	seen->rule[seen->count++] = *rule;
	return 0;
}

static int see_function(void *context, const struct frame_function *function)
{
	struct seen *seen = context;
	uint64_t budget = 64;

	seen->err = frame_program_run(function, &budget, see_rule, seen);
	return 0;
}

static struct seen see(const struct bytes_made *made, size_t *refused)
{
	struct frame_section section = {made->data, made->size, SECTION_ADDRESS, false};
	struct seen seen = {.count = 0};
	size_t count = 0;

	CHECK_EQ(frame_info_each(&section, see_function, &seen, &count), 0);
	if (refused)
		*refused = count;
	return seen;
}

/* Of a function at 0x2000. */
static struct seen see_program(const char *augmentation, uint32_t size, const uint8_t *program,
			       size_t program_size)
{
	struct bytes_made made = {.size = 0};
	struct seen seen;

	put_common(&made, augmentation);
	put_function(&made, 0x2000, size, program, program_size);
	seen = see(&made, NULL);
	CHECK_EQ(seen.err, 0);
	return seen;
}

TEST(a_function_with_a_frame_pointer)
{
	/* push rbp; mov rsp, rbp; ...; leave; ret */
	const uint8_t program[] = {0x41, 0x0e, 16, 0x86, 2, 0x43, 0x0d, 6, 0x02, 60, 0x0c, 7, 8};
	struct seen seen = see_program("zR", 65, program, sizeof(program));

	CHECK_EQ(seen.count, 4);
	CHECK_EQ(seen.address[0], 0x2000);
	CHECK_EQ(seen.rule[0].cfa, UNWIND_CFA_SP);
	CHECK_EQ(seen.rule[0].cfa_offset, 8);
	CHECK_EQ(seen.rule[0].ra, UNWIND_AT_CFA);
	CHECK_EQ(seen.rule[0].ra_offset, -8);
	CHECK_EQ(seen.rule[0].bp, UNWIND_SAME);
	CHECK_EQ(seen.address[1], 0x2001);
	CHECK_EQ(seen.rule[1].cfa_offset, 16);
	CHECK_EQ(seen.rule[1].bp, UNWIND_AT_CFA);
	CHECK_EQ(seen.rule[1].bp_offset, -16);
	CHECK_EQ(seen.address[2], 0x2004);
	CHECK_EQ(seen.rule[2].cfa, UNWIND_CFA_BP);
	CHECK_EQ(seen.rule[2].cfa_offset, 16);
	CHECK_EQ(seen.address[3], 0x2040);
	CHECK_EQ(seen.rule[3].cfa, UNWIND_CFA_SP);
	CHECK_EQ(seen.rule[3].cfa_offset, 8);
}

TEST(remembered_states_and_restored_registers)
{
	/* push rbx; [remember]; add 16; [restore state]; pop rbx: restored */
	const uint8_t program[] = {0x42, 0x0e, 16,   0x83, 2,    0x0a, 0x44, 0x0e,
				   32,   0x44, 0x0b, 0x41, 0x0e, 8,    0xc3};
	struct seen seen = see_program("zR", 32, program, sizeof(program));

	CHECK_EQ(seen.count, 5);
	CHECK_EQ(seen.rule[2].cfa_offset, 32);
	CHECK_EQ(seen.rule[3].cfa_offset, 16);
	CHECK_EQ(seen.rule[3].bx, UNWIND_AT_CFA);
	CHECK_EQ(seen.rule[3].bx_offset, -16);
	CHECK_EQ(seen.rule[4].cfa_offset, 8);
	CHECK_EQ(seen.rule[4].bx, UNWIND_SAME);
}

TEST(the_outermost_function_stops)
{
	const uint8_t program[] = {0x07, 16};
	struct seen seen = see_program("zR", 32, program, sizeof(program));

	CHECK_EQ(seen.count, 1);
	CHECK_EQ(seen.rule[0].ra, UNWIND_STOP);
	CHECK(seen.rule[0].cfa != UNWIND_CFA_NONE);
}

TEST(signal_frames_are_marked)
{
	/* CFA: word at rsp + 160; rbp at rsp + 120, return address at rsp + 168 */
	const uint8_t program[] = {0x0f, 4,    0x77, 0xa0, 0x01, 0x06, 0x10, 6,    3,
				   0x77, 0xf8, 0x00, 0x10, 16,   3,    0x77, 0xa8, 0x01};
	struct seen seen = see_program("zRS", 32, program, sizeof(program));

	CHECK_EQ(seen.count, 1);
	CHECK_EQ(seen.rule[0].cfa, UNWIND_CFA_SP_DEREF | UNWIND_CFA_SIGNAL);
	CHECK_EQ(seen.rule[0].cfa_offset, 160);
	CHECK_EQ(seen.rule[0].bp, UNWIND_AT_SP);
	CHECK_EQ(seen.rule[0].bp_offset, 120);
	CHECK_EQ(seen.rule[0].ra, UNWIND_AT_SP);
	CHECK_EQ(seen.rule[0].ra_offset, 168);
}

TEST(fibers_of_ocaml_have_a_rule)
{
	/* CFA: 8 behind the word that the word at rsp + 56 points to; then behind that at rbx + 8
	 */
	const uint8_t program[] = {0x0f, 8,    0x77, 56, 0x06, 0x23, 0,    0x06, 0x23,
				   8,    0x44, 0x0f, 5,  0x73, 8,    0x06, 0x23, 8};
	struct seen seen = see_program("zRS", 32, program, sizeof(program));

	CHECK_EQ(seen.count, 2);
	CHECK_EQ(seen.rule[0].cfa, UNWIND_CFA_SP_DEREF_TWICE | UNWIND_CFA_SIGNAL);
	CHECK_EQ(seen.rule[0].cfa_offset, 56);
	CHECK_EQ(seen.rule[0].cfa_add, 8);
	CHECK_EQ(seen.rule[1].cfa, UNWIND_CFA_BX_DEREF | UNWIND_CFA_SIGNAL);
	CHECK_EQ(seen.rule[1].cfa_offset, 8);
	CHECK_EQ(seen.rule[1].cfa_add, 8);
}

TEST(entries_of_the_plt_have_a_rule)
{
	const uint8_t program[] = {0x0f, 11,   0x77, 8,    0x80, 0,   0x3f,
				   0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22};
	struct seen seen = see_program("zR", 32, program, sizeof(program));

	CHECK_EQ(seen.count, 1);
	CHECK_EQ(seen.rule[0].cfa, UNWIND_CFA_PLT);
	CHECK_EQ(seen.rule[0].cfa_offset, 11);
}

TEST(what_no_rule_can_say_has_none)
{
	/* CFA in r10; then an unknown expression; then the return address in a register */
	const uint8_t program[] = {0x0c, 10,   0, 0x44, 0x0f, 2,  0x7a, 0,
				   0x44, 0x0c, 7, 8,    0x09, 16, 1};
	struct seen seen = see_program("zR", 32, program, sizeof(program));

	CHECK_EQ(seen.count, 3);
	for (unsigned i = 0; i < 3; i++)
		CHECK_EQ(seen.rule[i].cfa, UNWIND_CFA_NONE);
}

TEST(broken_programs_are_refused)
{
	const uint8_t no_state[] = {0x0b}, unknown[] = {0x3f}, beyond[] = {0x02, 200},
		      cut[] = {0x0c, 7, 0x80};
	const struct {
		const uint8_t *program;
		size_t size;
	} programs[] = {{no_state, 1}, {unknown, 1}, {beyond, 2}};

	for (unsigned i = 0; i < 3; i++) {
		struct bytes_made made = {.size = 0};
		struct frame_common common = {.code_align = 1, .data_align = -8};
		struct frame_function function = {.common = &common, .begin = 1, .end = 2};
		struct seen seen = {.count = 0};
		uint64_t budget = 64;

		put_common(&made, "zR");
		put_function(&made, 0x2000, 32, programs[i].program, programs[i].size);
		CHECK_EQ(see(&made, NULL).err, -EBADMSG);
		function.program = cursor_make(cut, sizeof(cut));
		CHECK_EQ(frame_program_run(&function, &budget, see_rule, &seen), -EBADMSG);
	}
}

TEST(instructions_beyond_the_budget_of_a_file_are_not_run)
{
	static const uint8_t nops[40];
	struct frame_common common = {
		.code_align = 1, .data_align = -8, .program = cursor_make(nops, sizeof(nops))};
	struct frame_function function = {.common = &common, .begin = 1, .end = 2};
	struct seen seen = {.count = 0};
	uint64_t budget = 100;

	CHECK_EQ(frame_program_run(&function, &budget, see_rule, &seen), 0);
	CHECK_EQ(frame_program_run(&function, &budget, see_rule, &seen), 0);
	CHECK_EQ(budget, 20);
	CHECK_EQ(seen.count, 2);
	CHECK_EQ(frame_program_run(&function, &budget, see_rule, &seen), -E2BIG);
	CHECK_EQ(seen.count, 2);
}

TEST(entries_that_make_no_sense_are_skipped)
{
	const uint8_t program[] = {0x41, 0x0e, 16};
	struct bytes_made made = {.size = 0};
	struct seen seen;
	size_t refused;

	put_common(&made, "zR?");
	put_function(&made, 0x3000, 32, program, sizeof(program));
	/* A function whose common part lies before the section. */
	put_entry(&made, 0x7fffffff, program, sizeof(program));
	seen = see(&made, &refused);
	CHECK_EQ(refused, 2);
	CHECK_EQ(seen.count, 0);

	/* A length that leads out of the section ends the reading; so does a section's end. */
	for (size_t cut = 0; cut < made.size; cut++) {
		struct frame_section section = {made.data, cut, SECTION_ADDRESS, false};

		CHECK_EQ(frame_info_each(&section, see_function, &seen, &refused), 0);
	}
}

/* --- searches ------------------------------------------------------------------------- */

TEST(pages_begin_with_a_row_and_rows_are_sorted)
{
	int fd = open("/lib/x86_64-linux-gnu/libc.so.6", O_RDONLY | O_CLOEXEC);
	struct unwind_file *file;
	size_t next = 0;

	if (fd < 0)
		test_skip("no libc where Debian has it");
	CHECK_EQ(unwind_read(fd, &file), 0);
	for (size_t i = 0; i < file->n_pages; i++) {
		const unwind_row *rows = file->rows + file->starts[i];
		uint32_t count = file->pages[i].count;

		CHECK(count > 0);
		CHECK_EQ(file->starts[i], next);
		CHECK_EQ(rows[0] & 0xffff, 0);
		for (uint32_t row = 1; row < count; row++) {
			CHECK((rows[row - 1] & 0xffff) <= (rows[row] & 0xffff));
			CHECK(rows[row] >> 16 < file->n_rules);
		}
		next += count;
	}
	CHECK_EQ(next, file->n_rows);
	unwind_free(file);
	close(fd);
}

/* The search of the kernel side, on the rows of a chunk at any place. */
TEST(the_search_finds_what_a_plain_one_finds)
{
	static unwind_row rows[UNWIND_CHUNK_ROWS];
	uint64_t state = test_seed();

	for (int round = 0; round < 200; round++) {
		uint32_t count = 1 + (uint32_t)(test_random(&state) % 3000);
		uint32_t first = (uint32_t)(test_random(&state) % (UNWIND_CHUNK_ROWS - count));
		uint32_t low = 0;

		for (uint32_t i = 0; i < count; i++) {
			rows[first + i] = low | i << 16;
			low += 1 + (uint32_t)(test_random(&state) % 20);
		}
		for (int probe = 0; probe < 200; probe++) {
			uint32_t at = (uint32_t)(test_random(&state) % 0x10000), expected = 0;

			for (uint32_t i = 0; i < count && (rows[first + i] & 0xffff) <= at; i++)
				expected = i;
			CHECK_EQ(unwind_search(rows, first, count, at), expected);
		}
	}
}

TEST(mappings_are_found)
{
	static struct unwind_table table;

	for (uint32_t count = 1; count <= UNWIND_MAPPINGS; count++) {
		table.count = count;
		for (uint32_t i = 0; i < count; i++)
			table.mappings[i].start = 100 + 10 * i;
		for (uint64_t at = 95; at < 100 + 10 * count + 10; at++) {
			uint64_t expected = at < 100 ? 0 : (at - 100) / 10;

			if (expected >= count)
				expected = count - 1;
			CHECK_EQ(unwind_find_mapping(&table, at), expected);
		}
	}
}

TEST(the_page_of_the_kernel_has_rows)
{
	void *image = (void *)getauxval(AT_SYSINFO_EHDR);
	struct unwind_file *file;
	ElfW(Ehdr) header;

	if (image)
		memcpy(&header, image, sizeof(header));
	else
		test_skip("no vdso");
	CHECK_EQ(unwind_read_memory(image,
				    header.e_shoff + (size_t)header.e_shnum * header.e_shentsize,
				    &file),
		 0);
	CHECK(file->functions > 0 && file->n_rows > 4);
	unwind_free(file);
}

TEST(files_that_are_none_are_refused)
{
	struct unwind_file *file;
	int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);

	CHECK(unwind_read(fd, &file) < 0);
	close(fd);
	fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	CHECK_EQ(unwind_read(fd, &file), -ENOEXEC);
	close(fd);
	unwind_free(NULL);
}

/* Without frame information, between functions that have some. */
extern const uint8_t spins[];
__asm__(".pushsection .text.spins,\"ax\",@progbits\n"
	".balign 16\n"
	"spins: pause; mov $1, %rax; test %rdi, %rdi; jne spins; ret\n"
	".balign 16\n"
	".popsection");

TEST(functions_that_leave_the_stack_alone_need_no_frame_information)
{
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	const struct unwind_rule *rule;
	struct unwind_file *file;
	Dl_info info;

	CHECK(dladdr(spins, &info));
	CHECK_EQ(unwind_read(fd, &file), 0);
	close(fd);
	/* Programs are loaded anywhere: addresses in the file are distances. */
	for (int i = 0; i < 10; i++) {
		rule = unwind_find(
			file, (uint64_t)((const char *)spins + i - (const char *)info.dli_fbase));
		CHECK_EQ(rule->cfa, UNWIND_CFA_SP);
		CHECK_EQ(rule->cfa_offset, 8);
		CHECK_EQ(rule->ra_offset, -8);
	}
	unwind_free(file);
}
