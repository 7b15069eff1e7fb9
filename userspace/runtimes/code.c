/* SPDX-License-Identifier: BSD-2-Clause */
/* code.c: decodes a file's machine code, for runtimes whose places have no symbol. */
#include "code.h"

#include <errno.h>

void code_begin(struct code *code, uint64_t address, const uint8_t *at, size_t left)
{
	*code = (struct code){.at = at, .left = left, .next = address};
	ZydisDecoderInit(&code->decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
}

bool code_open(struct runtime_file *file, uint64_t address, uint64_t size,
	       uint8_t room[CODE_BYTES_MAX], struct code *code)
{
	if (size > CODE_BYTES_MAX)
		size = CODE_BYTES_MAX;
	while (size && !runtime_read(file, address, room, size))
		size /= 2;
	code_begin(code, address, room, size);
	return size;
}

bool code_open_function(struct runtime_file *file, const char *name, uint8_t room[CODE_BYTES_MAX],
			struct code *code)
{
	uint64_t address, size;

	return runtime_exported(file, name, &address) &&
	       runtime_symbol_size(file, address, &size) &&
	       code_open(file, address, size, room, code);
}

bool code_step(struct code *code)
{
	if (ZYAN_FAILED(ZydisDecoderDecodeFull(&code->decoder, code->at, code->left, &code->insn,
					       code->operands)))
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

void code_visit_all(struct runtime_file *file, uint64_t flags, size_t window, uint64_t *left,
		    code_visit *visit, void *context)
{
	uint8_t bytes[16384];
	Elf_Scn *section = NULL;
	GElf_Shdr header;

	while ((section = elf_nextscn(file->elf, section))) {
		if (!gelf_getshdr(section, &header) || header.sh_type != SHT_PROGBITS ||
		    (header.sh_flags & (SHF_ALLOC | SHF_WRITE | SHF_EXECINSTR)) != flags)
			continue;
		for (uint64_t at = 0; at < header.sh_size; at += sizeof(bytes) - window + 1) {
			uint64_t rest = header.sh_size - at;
			size_t size = rest < sizeof(bytes) ? rest : sizeof(bytes);

			if (*left < size || !runtime_read(file, header.sh_addr + at, bytes, size))
				break;
			*left -= size;
			visit(context, header.sh_addr + at, bytes, size);
		}
	}
}

int runtime_returns(struct runtime_file *file, uint64_t address, uint64_t *out, size_t max)
{
	uint8_t room[CODE_BYTES_MAX];
	struct code code;
	uint64_t size;
	size_t n = 0;

	if (!runtime_symbol_size(file, address, &size) ||
	    !code_open(file, address, size, room, &code) || code.left != size)
		return -ENOENT;
	while (code.left) {
		if (!code_step(&code))
			return -ENOENT;
		if (code.insn.mnemonic != ZYDIS_MNEMONIC_RET)
			continue;
		if (n == max)
			return -E2BIG;
		out[n++] = code.address;
	}
	return n ? (int)n : -ENOENT;
}
