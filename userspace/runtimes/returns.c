/* SPDX-License-Identifier: BSD-2-Clause */
/* returns.c: finds the return instructions of a function by decoding it. */
#include "returns.h"

#include <capstone/capstone.h>
#include <errno.h>

#define FUNCTION_BYTES_MAX 16384

/* Decodes `size` bytes of code at `address`. */
static int find_returns(csh decoder, cs_insn *insn, const uint8_t *code, size_t size,
			uint64_t address, uint64_t *out, size_t max)
{
	size_t n = 0;

	while (size && cs_disasm_iter(decoder, &code, &size, &address, insn)) {
		if (insn->id != X86_INS_RET)
			continue;
		if (n == max)
			return -E2BIG;
		out[n++] = insn->address;
	}
	return size || !n ? -ENOENT : (int)n;
}

int runtime_returns(struct runtime_file *file, uint64_t address, uint64_t *out, size_t max)
{
	uint8_t code[FUNCTION_BYTES_MAX];
	uint64_t size;
	cs_insn *insn;
	csh decoder;
	int n = -ENOENT;

	if (!runtime_symbol_size(file, address, &size) || size > sizeof(code) ||
	    !runtime_read(file, address, code, size) || cs_open(CS_ARCH_X86, CS_MODE_64, &decoder))
		return -ENOENT;
	insn = cs_malloc(decoder);
	if (insn)
		n = find_returns(decoder, insn, code, size, address, out, max);
	if (insn)
		cs_free(insn, 1);
	cs_close(&decoder);
	return n;
}
