/* SPDX-License-Identifier: BSD-2-Clause */
/* go_code.h: decodes a function of a Go program, instruction by instruction (Zydis). */
#ifndef GCPROF_GO_CODE_H
#define GCPROF_GO_CODE_H

#include <Zydis/Zydis.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../symbols/go_table.h"

struct go_file {
	struct go_table *table;
	ZydisDecoder decoder;
};

/* A function's code and the current position. */
struct code {
	struct go_file *file;
	const uint8_t *at;
	size_t left;
	uint64_t address, next;       /* of the current instruction and the next */
	ZydisDecodedInstruction insn; /* the current one */
	ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
	unsigned n_operands; /* those that are written down */
};

/* Opens a function, the one at an address, or the one of this name; false if there is none, or it
 * is too large. The first code_step() goes to its first instruction. */
bool code_of(struct go_file *file, const struct go_function *function, struct code *out);
bool code_at(struct go_file *file, uint64_t address, struct code *out);
bool code_named(struct go_file *file, const char *name, struct code *out);

/* Goes to the next instruction; false at the end, or if it cannot be decoded. */
bool code_step(struct code *code);

/* Is an operand of the current instruction this register, or memory at it? Without an index. */
bool code_is_register(const struct code *code, unsigned operand, ZydisRegister wanted);
bool code_is_memory(const struct code *code, unsigned operand, ZydisRegister base);

/* The address of a variable operand of `size` bytes; 0: the operand is something else. */
uint64_t code_variable(const struct code *code, unsigned operand, unsigned size);

/* The target of a jump or call, 0: neither; and whether it is a call of this target. */
uint64_t code_target(const struct code *code);
bool code_calls(const struct code *code, uint64_t address);

#endif
