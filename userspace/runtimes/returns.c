/* SPDX-License-Identifier: BSD-2-Clause */
/* returns.c: finds the return instructions of a function by decoding it. */
#include "returns.h"

#include <Zydis/Zydis.h>
#include <errno.h>

#define FUNCTION_BYTES_MAX 16384

int runtime_returns(struct runtime_file *file, uint64_t address, uint64_t *out, size_t max)
{
	uint8_t code[FUNCTION_BYTES_MAX];
	uint64_t size, at = 0;
	ZydisDecodedInstruction insn;
	ZydisDecoder decoder;
	size_t n = 0;

	if (!runtime_symbol_size(file, address, &size) || size > sizeof(code) ||
	    !runtime_read(file, address, code, size))
		return -ENOENT;
	ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
	for (; at < size; at += insn.length) {
		if (ZYAN_FAILED(ZydisDecoderDecodeInstruction(&decoder, NULL, code + at, size - at,
							      &insn)))
			return -ENOENT;
		if (insn.mnemonic != ZYDIS_MNEMONIC_RET)
			continue;
		if (n == max)
			return -E2BIG;
		out[n++] = address + at;
	}
	return n ? (int)n : -ENOENT;
}
