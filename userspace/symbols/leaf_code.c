// SPDX-License-Identifier: BSD-2-Clause
/* leaf_code.c: recognises code that leaves the stack pointer alone, with Zydis. */
#include "leaf_code.h"

#include <Zydis/Zydis.h>

static bool moves_stack(const ZydisDecodedInstruction *insn, const ZydisDecodedOperand *operands)
{
	for (unsigned i = 0; i < insn->operand_count; i++)
		if (operands[i].type == ZYDIS_OPERAND_TYPE_REGISTER &&
		    (operands[i].actions & ZYDIS_OPERAND_ACTION_MASK_WRITE) &&
		    ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64,
						     operands[i].reg.value) == ZYDIS_REGISTER_RSP)
			return true;
	return false;
}

bool leaf_code_is(const uint8_t *code, size_t size)
{
	ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
	ZydisDecodedInstruction insn;
	ZydisDecoder decoder;
	bool leaves = false;

	if (size > LEAF_BYTES_MAX)
		return false;
	ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
	for (size_t at = 0; at < size; at += insn.length) {
		bool returns;

		if (ZYAN_FAILED(ZydisDecoderDecodeFull(&decoder, code + at, size - at, &insn,
						       operands)))
			return false;
		returns = insn.mnemonic == ZYDIS_MNEMONIC_RET;
		if (!returns && moves_stack(&insn, operands))
			return false;
		leaves |= returns || insn.mnemonic == ZYDIS_MNEMONIC_JMP;
	}
	return leaves;
}
