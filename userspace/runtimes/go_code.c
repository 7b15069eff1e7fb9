// SPDX-License-Identifier: BSD-2-Clause
/* go_code.c: decodes a function of a Go program, instruction by instruction. */
#include "go_code.h"

#define FUNCTION_MAX (64u << 10) /* bytes decoded per function */

bool code_of(struct go_file *file, const struct go_function *function, struct code *out)
{
	uint64_t left = 0;

	*out = (struct code){.file = file, .next = function->address};
	if (!function->size || function->size > FUNCTION_MAX)
		return false;
	out->at = go_table_code(file->table, function, &left);
	out->left = left;
	return out->at && left;
}

bool code_at(struct go_file *file, uint64_t address, struct code *out)
{
	struct go_function function;

	return go_table_at(file->table, address, &function) && function.address == address &&
	       code_of(file, &function, out);
}

bool code_named(struct go_file *file, const char *name, struct code *out)
{
	struct go_function function;

	return go_table_named(file->table, name, &function) && code_of(file, &function, out);
}

bool code_step(struct code *code)
{
	cs_insn *insn = code->file->scratch;

	if (!cs_disasm_iter(code->file->decoder, &code->at, &code->left, &code->next, insn))
		return false;
	code->insn = insn;
	code->operands = insn->detail->x86.operands;
	code->n_operands = insn->detail->x86.op_count;
	return true;
}

bool code_is_register(const struct code *code, unsigned operand, x86_reg wanted)
{
	return operand < code->n_operands && code->operands[operand].type == X86_OP_REG &&
	       code->operands[operand].reg == wanted;
}

bool code_is_memory(const struct code *code, unsigned operand, x86_reg base)
{
	return operand < code->n_operands && code->operands[operand].type == X86_OP_MEM &&
	       code->operands[operand].mem.base == base &&
	       code->operands[operand].mem.index == X86_REG_INVALID;
}

uint64_t code_variable(const struct code *code, unsigned operand, unsigned size)
{
	if (!code_is_memory(code, operand, X86_REG_RIP) || code->operands[operand].size != size)
		return 0;
	return code->insn->address + code->insn->size + (uint64_t)code->operands[operand].mem.disp;
}

uint64_t code_target(const struct code *code)
{
	return code->n_operands == 1 && code->operands[0].type == X86_OP_IMM
		       ? (uint64_t)code->operands[0].imm
		       : 0;
}

bool code_calls(const struct code *code, uint64_t address)
{
	return code->insn->id == X86_INS_CALL && code_target(code) == address;
}
