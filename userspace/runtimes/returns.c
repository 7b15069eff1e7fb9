/* SPDX-License-Identifier: BSD-2-Clause */
/* returns.c: finds the return instructions of a function by decoding it. */
#include "returns.h"

#include <errno.h>

#include "code.h"

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
