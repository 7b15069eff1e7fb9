/* SPDX-License-Identifier: BSD-2-Clause */
/* operand.c: tests of how the arguments in probes' notes are understood. */
#include "test.h"

#include <asm/ptrace.h>
#include <errno.h>
#include <stddef.h>

#include "reader/notes.h"

#define WORD(member) (offsetof(struct pt_regs, member) / 8)

static struct probe_argument one(const char *text)
{
	struct probe_argument argument;

	CHECK_EQ(operand_next(&text, &argument), 1);
	CHECK_EQ(*text, 0);
	CHECK_EQ(operand_next(&text, &argument), 0);
	return argument;
}

TEST(registers_of_all_sizes)
{
	static const struct {
		const char *text;
		unsigned word;
	} all[] = {
		{"8@%rax", WORD(rax)}, {"4@%eax", WORD(rax)},  {"2@%ax", WORD(rax)},
		{"1@%al", WORD(rax)},  {"8@%rbx", WORD(rbx)},  {"8@%rcx", WORD(rcx)},
		{"8@%rdx", WORD(rdx)}, {"8@%rsi", WORD(rsi)},  {"1@%sil", WORD(rsi)},
		{"8@%rdi", WORD(rdi)}, {"8@%rbp", WORD(rbp)},  {"8@%rsp", WORD(rsp)},
		{"8@%r8", WORD(r8)},   {"4@%r9d", WORD(r9)},   {"8@%r10", WORD(r10)},
		{"8@%r11", WORD(r11)}, {"8@%r12", WORD(r12)},  {"2@%r13w", WORD(r13)},
		{"8@%r14", WORD(r14)}, {"1@%r15b", WORD(r15)},
	};

	for (unsigned i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		struct probe_argument argument = one(all[i].text);
		CHECK_EQ(argument.operand, OPERAND_REGISTER);
		CHECK_EQ(argument.base, all[i].word);
	}
}

TEST(sizes_and_signs)
{
	CHECK_EQ(one("-4@%edi").size, 4);
	CHECK_EQ(one("-4@%edi").is_signed, 1);
	CHECK_EQ(one("1@%dil").size, 1);
	CHECK_EQ(one("1@%dil").is_signed, 0);
}

TEST(constants)
{
	CHECK_EQ(one("4@$7").value, 7);
	CHECK_EQ(one("-8@$-12").value, -12);
	CHECK_EQ(one("8@$0x10").value, 16);
	CHECK_EQ(one("8@$010").value, 10);
	CHECK_EQ(one("8@$18446744073709551615").value, -1);
	CHECK_EQ(one("4@$7").operand, OPERAND_CONSTANT);
}

TEST(memory)
{
	struct probe_argument argument = one("8@-16(%rbp)");

	CHECK_EQ(argument.operand, OPERAND_MEMORY);
	CHECK_EQ(argument.value, -16);
	CHECK_EQ(argument.base, WORD(rbp));
	CHECK_EQ(argument.index, OPERAND_NO_INDEX);
	argument = one("8@(%rax)");
	CHECK_EQ(argument.value, 0);
	CHECK_EQ(argument.base, WORD(rax));
	argument = one("4@8(%rax,%rcx,4)");
	CHECK_EQ(argument.value, 8);
	CHECK_EQ(argument.base, WORD(rax));
	CHECK_EQ(argument.index, WORD(rcx));
	CHECK_EQ(argument.scale, 4);
	CHECK_EQ(one("4@(%rax,%rcx)").scale, 1);
}

TEST(several)
{
	const char *text = "  8@%rdi  -4@$1 8@(%rsp) ";
	struct probe_argument argument;

	CHECK_EQ(operand_next(&text, &argument), 1);
	CHECK_EQ(operand_next(&text, &argument), 1);
	CHECK_EQ(argument.value, 1);
	CHECK_EQ(operand_next(&text, &argument), 1);
	CHECK_EQ(argument.operand, OPERAND_MEMORY);
	CHECK_EQ(operand_next(&text, &argument), 0);
}

TEST(nonsense_is_refused)
{
	static const char *const bad[] = {
		"%rdi",
		"8@",
		"@%rdi",
		"3@%rdi",
		"16@%rdi",
		"0@%rdi",
		"8@rdi",
		"8@%rip",
		"8@%xmm0",
		"8@%",
		"8@$",
		"8@$x",
		"8@$7x",
		"8@%rdix",
		"8@(%rax",
		"8@(%eax)",
		"8@()",
		"8@4",
		"8@(%rax,)",
		"8@(%rax,%rcx,3)",
		"8@(%rax,%rcx,)",
		"8@heap(%rip)",
		"8@4(%rip)",
		"8@(%rax)x",
		"8@--4(%rax)",
		"8@$99999999999999999999",
		"8@-16(%rbp)8@-16(%rbp)",
		"8@0000000000000000000000000000000000000000000000000000000000(%rax)",
	};

	for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		const char *text = bad[i];
		struct probe_argument argument;

		printf("%s\n", bad[i]);
		CHECK_EQ(operand_next(&text, &argument), -EINVAL);
	}
}

/* Whatever the text: it is used up, and what is found can be used. */
TEST(random_text)
{
	static const char letters[] = "0123456789-@$%(),rabcdxsip ";
	uint64_t state = test_seed();

	for (int round = 0; round < 200000; round++) {
		char buffer[24];
		const char *text = buffer;
		struct probe_argument argument;
		size_t length = test_random(&state) % sizeof(buffer);

		for (size_t i = 0; i < length; i++)
			buffer[i] = letters[test_random(&state) % (sizeof(letters) - 1)];
		buffer[length] = '\0';
		while (operand_next(&text, &argument) > 0) {
			CHECK(argument.operand <= OPERAND_MEMORY);
			CHECK(argument.base < OPERAND_REGISTERS);
			CHECK(argument.index < OPERAND_REGISTERS ||
			      argument.index == OPERAND_NO_INDEX);
			CHECK(argument.size && argument.size <= 8);
		}
		CHECK(text <= buffer + length);
	}
}
