/* SPDX-License-Identifier: BSD-2-Clause */
/* layout.c: finds in PyPy's code what the walker of its functions reads. */
/*
 * The library has no symbols for that, so it is taken from the instructions that use it:
 *
 *	the thread's list	data16 lea STORAGE(%rip),%rdi; call __tls_get_addr;
 *				cmpl $42,(%rax); jne; mov LIST(%rax),...
 *	compiled code		lea CODES(%rip),...; levels 7 and 9 as constants, and a comparison
 *	a function is run	movq $1,16(ENTRY); ... mov ENTRY,LIST(%rax); ... call
 *
 * All uses must agree, or nothing is found.
 */
#include "layout.h"

#include <stdlib.h>
#include <string.h>

#include "../code.h"
#include "../../util/buffer.h"

#define WINDOW      64 /* bytes of code in which the parts of a use lie */
#define ENTRIES_MAX 8192
#define RUN_STEPS   32 /* instructions from the kind of an entry to the call */
#define RUN_BYTES   160

/* A value that all uses must agree on. */
struct agreed {
	uint64_t value; /* 0: none so far */
	bool differs;
};

struct layout_search {
	struct agreed storage, list, codes, entered;
	struct buffer entries; /* uint64_t[]: where the kind of an entry is written */
};

static void agree(struct agreed *agreed, uint64_t value)
{
	agreed->differs |= agreed->value && agreed->value != value;
	agreed->value = value;
}

static uint64_t agreed_value(const struct agreed *agreed)
{
	return agreed->differs ? 0 : agreed->value;
}

static uint64_t layout_target(uint64_t next, const uint8_t *distance)
{
	int32_t value;

	memcpy(&value, distance, sizeof(value));
	return next + (uint64_t)(int64_t)value;
}

/* The thread's list, at a data16 lea. */
static void find_list(struct layout_search *search, uint64_t address, const uint8_t *at)
{
	static const uint8_t call[] = {0x66, 0x66, 0x48, 0xe8}, test[] = {0x83, 0x38, 0x2a, 0x75},
			     clear = 0x31;
	enum { LEA = 8, CALL = 16 };
	const uint8_t *behind = at + CALL;

	if (memcmp(at + LEA, call, sizeof(call)) != 0)
		return;
	if (*behind == clear)
		behind += 2;
	if (memcmp(behind, test, sizeof(test)) != 0)
		return;
	behind += sizeof(test) + 1;
	/* mov n(%rax),... */
	if (behind[0] != 0x48 || behind[1] != 0x8b || (behind[2] & 0xc7) != 0x40)
		return;
	agree(&search->storage, layout_target(address + LEA, at + LEA - 4));
	agree(&search->list, behind[3]);
}

static bool has_constant(const uint8_t *at, uint8_t value)
{
	const uint8_t wanted[] = {value, 0, 0, 0};

	return memmem(at, WINDOW, wanted, sizeof(wanted));
}

/* The skip list, at any lea of a variable. */
static void find_codes(struct layout_search *search, uint64_t address, const uint8_t *at)
{
	enum { LEA = 7, COMPARE = 0x3b, REX_MASK = 0xfa, REX = 0x48 };

	if (!has_constant(at + LEA, 7) || !has_constant(at + LEA, 9))
		return;
	for (size_t i = LEA; i < WINDOW; i++)
		if (at[i] == COMPARE && (at[i - 1] & REX_MASK) == REX) {
			agree(&search->codes, layout_target(address + LEA, at + LEA - 4));
			return;
		}
}

static void find_parts(void *context, uint64_t address, const uint8_t *bytes, size_t size)
{
	static const uint8_t lea[] = {0x66, 0x48, 0x8d, 0x3d}, one[] = {0x10, 1, 0, 0, 0};
	struct layout_search *search = context;

	for (size_t i = 0; i + 2 * WINDOW <= size; i++) {
		const uint8_t *at = bytes + i;
		uint64_t here = address + i;

		if (at[0] == lea[0] && !memcmp(at, lea, sizeof(lea)))
			find_list(search, here, at);
		else if ((at[0] & 0xfb) == 0x48 && at[1] == lea[2] && (at[2] & 0xc7) == 0x05)
			find_codes(search, here, at);
		/* movq $1,16(...) */
		else if ((at[0] & 0xfe) == 0x48 && at[1] == 0xc7 && (at[2] & 0xf8) == 0x40 &&
			 !memcmp(at + 3, one, sizeof(one)) &&
			 search->entries.size < ENTRIES_MAX * sizeof(here))
			(void)buffer_append(&search->entries, &here, sizeof(here));
	}
}

/* Is it mov HOLDER,LIST(%rax)? */
static bool stores(const struct code *code, ZydisRegister holder, uint64_t list)
{
	return code->insn.mnemonic == ZYDIS_MNEMONIC_MOV &&
	       code_is_memory(code, 0, ZYDIS_REGISTER_RAX) &&
	       (uint64_t)code->operands[0].mem.disp.value == list &&
	       code_is_register(code, 1, holder);
}

/* Where the call returns to that follows an entry put into the list; 0: it is another thing. */
static uint64_t run_of(struct runtime_file *file, uint64_t address, uint64_t list)
{
	ZydisRegister holder;
	uint8_t room[CODE_BYTES_MAX];
	struct code code;
	bool stored = false;

	if (!code_open(file, address, RUN_BYTES, room, &code) || !code_step(&code))
		return 0;
	holder = code.operands[0].mem.base;
	for (int i = 0; i < RUN_STEPS && code_step(&code); i++) {
		switch (code.insn.mnemonic) {
		case ZYDIS_MNEMONIC_RET:
		case ZYDIS_MNEMONIC_JMP:
			return 0;
		case ZYDIS_MNEMONIC_CALL:
			if (stored)
				return code.next;
			break;
		default:
			stored |= stores(&code, holder, list);
		}
	}
	return 0;
}

bool pypy_layout_of(struct runtime_file *file, uint64_t *left, struct pypy_layout *out)
{
	struct layout_search search = {0};
	const uint64_t *entries;

	code_visit_all(file, SHF_ALLOC | SHF_EXECINSTR, 2 * WINDOW, left, find_parts, &search);
	*out = (struct pypy_layout){.storage = agreed_value(&search.storage),
				    .list = agreed_value(&search.list),
				    .codes = agreed_value(&search.codes)};
	if (!out->storage || !out->list || out->list % 8 || !out->codes || out->codes % 8)
		*out = (struct pypy_layout){0};
	entries = (const void *)search.entries.data;
	for (size_t i = 0; out->storage && i < search.entries.size / sizeof(*entries); i++) {
		uint64_t entered = run_of(file, entries[i], out->list);

		if (entered)
			agree(&search.entered, entered);
	}
	out->entered = out->storage ? agreed_value(&search.entered) : 0;
	buffer_free(&search.entries);
	return out->storage;
}
