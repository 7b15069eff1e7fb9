/* SPDX-License-Identifier: BSD-2-Clause */
/* go_unwind.c: unwind rows of Go functions, from the table that stripped programs keep. */
/*
 * .gopclntab has the stack depth for each instruction. A function with a frame saves rbp right
 * below its return address. A stack ends with goexit, mstart and the like, and where the scheduler
 * has switched to its own stack (mcall).
 *
 * A few functions switch to another stack but have a caller:
 *
 *	systemstack	its caller is where the goroutine has left its own stack
 *	asmcgocall	rbp is that of its caller, also throughout C code
 *	cgocallback	goes back to the goroutine's stack, where C code was called: its return
 *			address there is a function's first instruction
 *	nanotime1 ...	call the vDSO on the system stack; rbp is their own
 *	sigreturn	lies above the registers that the kernel saved for a signal
 */
#include "unwind_build.h"

#include <string.h>

#include "go_table.h"

#define WORD 8

/* Where a goroutine saves its stack pointer and instruction pointer when it leaves its stack, in
 * all versions so far. */
enum { LEFT_SP = 0x38, LEFT_IP = 0x40 };

enum { PROLOGUE = 10 }; /* bytes after the one that makes the frame, until rbp points to its end */

enum kind {
	KIND_PLAIN,
	KIND_TOP,
	KIND_FIBER,
	KIND_THROUGH,   /* rbp is the caller's */
	KIND_ELSEWHERE, /* rbp is its own, the stack pointer is arbitrary */
	KIND_HANDLER,   /* its return address does not follow a call */
	KIND_SIGNAL,
};

static const struct {
	const char *name;
	enum kind kind;
} special[] = {
	{"runtime.systemstack", KIND_FIBER},
	{"runtime.asmcgocall", KIND_THROUGH},
	{"runtime.nanotime1", KIND_ELSEWHERE},
	{"runtime.walltime", KIND_ELSEWHERE},
	{"time.now", KIND_ELSEWHERE},
	{"runtime.cgocallback", KIND_HANDLER},
	{"runtime.sigtramp", KIND_HANDLER},
	{"runtime.sigreturn", KIND_SIGNAL},
	{"runtime.sigreturn__sigaction", KIND_SIGNAL},
	{"_rt0_amd64", KIND_TOP},
	{"_rt0_amd64_linux", KIND_TOP},
};

struct go_function_rows {
	struct unwind_builder *builder;
	uint64_t begin;
	enum kind kind;
	bool framed; /* of KIND_ELSEWHERE: its frame is complete */
	int err;
};

static const struct unwind_rule by_bp = {
	.cfa = UNWIND_CFA_BP | UNWIND_CFA_SIGNAL, /* the stack may be a different one */
	.ra = UNWIND_AT_CFA,
	.bp = UNWIND_AT_CFA,
	.cfa_offset = 2 * WORD,
	.ra_offset = -WORD,
	.bp_offset = -2 * WORD,
};

static int go_unwind_put(struct go_function_rows *rows, uint64_t offset,
			 const struct unwind_rule *rule)
{
	rows->err = unwind_builder_row(rows->builder, rows->begin + offset, rule);
	return rows->err;
}

static int add_row(void *context, uint64_t offset, int32_t depth)
{
	struct go_function_rows *rows = context;
	bool framed = rows->framed;
	struct unwind_rule rule = {
		.cfa = UNWIND_CFA_SP,
		.ra = UNWIND_AT_CFA,
		.cfa_offset = depth + WORD,
		.ra_offset = -WORD,
	};

	if (rows->kind == KIND_HANDLER)
		rule.cfa |= UNWIND_CFA_SIGNAL;
	if (depth >= WORD) {
		rule.bp = UNWIND_AT_CFA;
		rule.bp_offset = -2 * WORD;
	}
	if (depth < 0 || depth % WORD)
		rule = (struct unwind_rule){0};
	rows->framed = rows->kind == KIND_ELSEWHERE && depth > 0;
	if (rows->framed && framed)
		return go_unwind_put(rows, offset, &by_bp);
	if (go_unwind_put(rows, offset, &rule) || !rows->framed)
		return rows->err;
	return go_unwind_put(rows, offset + PROLOGUE, &by_bp);
}

/* The offset x of mov %rbp,x(%r14) where systemstack leaves the goroutine, in r14; 0: none. */
static int16_t left_bp(const struct go_table *table)
{
	static const uint8_t move[] = {0x49, 0x89, 0x6e};
	struct go_function function;
	const uint8_t *code;
	uint64_t size = 0;

	if (!go_table_named(table, "gosave_systemstack_switch", &function))
		return 0;
	code = go_table_code(table, &function, &size);
	for (uint64_t i = 0; code && i + sizeof(move) < size; i++)
		if (!memcmp(code + i, move, sizeof(move)))
			return code[i + sizeof(move)] & 0x7f;
	return 0;
}

static int add_single(const struct go_table *table, struct go_function_rows *rows)
{
	struct unwind_rule rule = {.cfa = UNWIND_CFA_SP, .ra = UNWIND_STOP, .cfa_offset = WORD};

	if (rows->kind == KIND_THROUGH)
		rule = by_bp;
	if (rows->kind == KIND_SIGNAL)
		rule = unwind_signal_rule;
	if (rows->kind == KIND_FIBER) {
		rule.ra = UNWIND_FIBER;
		rule.cfa_add = LEFT_SP;
		rule.ra_offset = LEFT_IP;
		rule.bp_offset = left_bp(table);
	}
	return go_unwind_put(rows, 0, &rule);
}

static enum kind kind_of(const struct go_table *table, size_t index, const char *name)
{
	for (size_t i = 0; name && i < sizeof(special) / sizeof(special[0]); i++)
		if (!strcmp(name, special[i].name))
			return special[i].kind;
	return go_table_is_top(table, index) ? KIND_TOP : KIND_PLAIN;
}

static int add_function(const struct go_table *table, size_t index,
			const struct go_function *function, struct unwind_builder *builder)
{
	struct go_function_rows rows = {
		.builder = builder,
		.begin = function->address,
		.kind = kind_of(table, index, function->name),
	};
	int err;

	err = unwind_builder_function(builder, rows.begin, rows.begin + function->size);
	if (err)
		return err;
	if (rows.kind == KIND_TOP || rows.kind == KIND_FIBER || rows.kind == KIND_THROUGH ||
	    rows.kind == KIND_SIGNAL)
		return add_single(table, &rows);
	go_table_stack(table, index, add_row, &rows);
	return rows.err;
}

int go_unwind_add(Elf *elf, struct unwind_builder *builder)
{
	struct problem problem = {""};
	struct go_function function;
	struct go_table *table;
	int err = 0;

	if (go_table_open(elf, &table, &problem))
		return 0;
	for (size_t i = 0; !err && go_table_function(table, i, &function); i++)
		if (function.size)
			err = add_function(table, i, &function, builder);
	go_table_free(table);
	return err;
}
