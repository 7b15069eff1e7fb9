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
	if (ZYAN_FAILED(ZydisDecoderDecodeFull(&code->file->decoder, code->at, code->left,
					       &code->insn, code->operands)))
		return false;
	code->address = code->next;
	code->next += code->insn.length;
	code->at += code->insn.length;
	code->left -= code->insn.length;
	code->n_operands = code->insn.operand_count_visible;
	return true;
}

bool code_is_register(const struct code *code, unsigned operand, ZydisRegister wanted)
{
	return operand < code->n_operands &&
	       code->operands[operand].type == ZYDIS_OPERAND_TYPE_REGISTER &&
	       code->operands[operand].reg.value == wanted;
}

bool code_is_memory(const struct code *code, unsigned operand, ZydisRegister base)
{
	return operand < code->n_operands &&
	       code->operands[operand].type == ZYDIS_OPERAND_TYPE_MEMORY &&
	       code->operands[operand].mem.base == base &&
	       code->operands[operand].mem.index == ZYDIS_REGISTER_NONE;
}

uint64_t code_variable(const struct code *code, unsigned operand, unsigned size)
{
	if (!code_is_memory(code, operand, ZYDIS_REGISTER_RIP) ||
	    code->operands[operand].size != size * 8)
		return 0;
	return code->next + (uint64_t)code->operands[operand].mem.disp.value;
}

uint64_t code_target(const struct code *code)
{
	return code->n_operands == 1 && code->operands[0].type == ZYDIS_OPERAND_TYPE_IMMEDIATE &&
			       code->operands[0].imm.is_relative
		       ? code->next + code->operands[0].imm.value.u
		       : 0;
}

bool code_calls(const struct code *code, uint64_t address)
{
	return code->insn.mnemonic == ZYDIS_MNEMONIC_CALL && code_target(code) == address;
}
