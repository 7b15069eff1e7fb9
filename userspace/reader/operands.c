/* SPDX-License-Identifier: BSD-2-Clause */
/* operands.c: parses the argument locations in notes. */
#include "operands.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/*
 * An argument (x86-64) is a size in bytes, negative if signed, an @, and an operand in assembler
 * syntax. Anything not understood completely is refused.
 */
enum { OPERAND_TEXT_MAX = 63 };

/* The words of struct pt_regs in order, with all names of each register. */
static const struct {
	const char *names[4]; /* 8, 4, 2 and 1 byte */
	uint8_t word;
} registers[] = {
	{{"r15", "r15d", "r15w", "r15b"}, 0}, {{"r14", "r14d", "r14w", "r14b"}, 1},
	{{"r13", "r13d", "r13w", "r13b"}, 2}, {{"r12", "r12d", "r12w", "r12b"}, 3},
	{{"rbp", "ebp", "bp", "bpl"}, 4},     {{"rbx", "ebx", "bx", "bl"}, 5},
	{{"r11", "r11d", "r11w", "r11b"}, 6}, {{"r10", "r10d", "r10w", "r10b"}, 7},
	{{"r9", "r9d", "r9w", "r9b"}, 8},     {{"r8", "r8d", "r8w", "r8b"}, 9},
	{{"rax", "eax", "ax", "al"}, 10},     {{"rcx", "ecx", "cx", "cl"}, 11},
	{{"rdx", "edx", "dx", "dl"}, 12},     {{"rsi", "esi", "si", "sil"}, 13},
	{{"rdi", "edi", "di", "dil"}, 14},    {{"rsp", "esp", "sp", "spl"}, 19},
};

/* Takes %NAME; `whole` allows only 8-byte registers. */
static bool take_register(const char **at, bool whole, uint8_t *word)
{
	size_t length;

	if (**at != '%')
		return false;
	length = strspn(*at + 1, "abcdefghijklmnopqrstuvwxyz0123456789");
	for (size_t i = 0; i < sizeof(registers) / sizeof(registers[0]); i++) {
		for (int name = 0; name < (whole ? 1 : 4); name++) {
			const char *candidate = registers[i].names[name];
			if (strlen(candidate) != length || memcmp(candidate, *at + 1, length) != 0)
				continue;
			*word = registers[i].word;
			*at += 1 + length;
			return true;
		}
	}
	return false;
}

/* Takes a decimal or hexadecimal number. */
static bool take_number(const char **at, int64_t *value)
{
	const char *digits = *at + (**at == '-');
	int base = digits[0] == '0' && digits[1] == 'x' ? 16 : 10;
	char *end;

	if (*digits < '0' || *digits > '9')
		return false;
	errno = 0;
	*value = (int64_t)strtoll(*at, &end, base);
	if (errno == ERANGE && **at != '-') {
		errno = 0;
		*value = (int64_t)strtoull(*at, &end, base);
	}
	*at = end;
	return errno == 0;
}

static bool take_character(const char **at, char wanted)
{
	if (**at != wanted)
		return false;
	++*at;
	return true;
}

/* The part in parentheses: (%base), (%base,%index), (%base,%index,scale). */
static bool take_memory(const char **at, struct probe_argument *out)
{
	int64_t scale = 1;

	out->operand = OPERAND_MEMORY;
	if (!take_character(at, '(') || !take_register(at, true, &out->base))
		return false;
	if (take_character(at, ',')) {
		if (!take_register(at, true, &out->index))
			return false;
		if (take_character(at, ',') && !take_number(at, &scale))
			return false;
	}
	if (scale != 1 && scale != 2 && scale != 4 && scale != 8)
		return false;
	out->scale = (uint8_t)scale;
	return take_character(at, ')');
}

static bool take_operand(const char **at, struct probe_argument *out)
{
	out->index = OPERAND_NO_INDEX;
	if (take_character(at, '$')) {
		out->operand = OPERAND_CONSTANT;
		return take_number(at, &out->value);
	}
	if (**at == '%') {
		out->operand = OPERAND_REGISTER;
		return take_register(at, false, &out->base);
	}
	if (**at != '(' && !take_number(at, &out->value))
		return false;
	return take_memory(at, out);
}

int operand_next(const char **text, struct probe_argument *out)
{
	char word[OPERAND_TEXT_MAX + 1];
	const char *at = word;
	size_t length;
	int64_t size;

	*text += strspn(*text, " ");
	length = strcspn(*text, " ");
	if (!length)
		return 0;
	if (length > OPERAND_TEXT_MAX)
		return -EINVAL;
	memcpy(word, *text, length);
	word[length] = '\0';
	*text += length;
	*out = (struct probe_argument){0};
	if (!take_number(&at, &size) || !take_character(&at, '@'))
		return -EINVAL;
	out->is_signed = size < 0;
	size = size < 0 ? -size : size;
	if (size != 1 && size != 2 && size != 4 && size != 8)
		return -EINVAL;
	out->size = (uint8_t)size;
	return take_operand(&at, out) && !*at ? 1 : -EINVAL;
}
