/* SPDX-License-Identifier: BSD-2-Clause */
/* code.h: decodes a file's machine code, for runtimes whose places have no symbol. */
#ifndef GCPROF_RUNTIMES_CODE_H
#define GCPROF_RUNTIMES_CODE_H

#include <Zydis/Zydis.h>

#include "find.h"

/* Code and the current position. Instructions are decoded one behind the other; jumps are not
 * followed. */
struct code {
	ZydisDecoder decoder;
	const uint8_t *at;
	size_t left;
	uint64_t address, next;       /* of the current instruction and the next */
	ZydisDecodedInstruction insn; /* the current one */
	ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
	unsigned n_operands; /* those that are written down */
};

#define CODE_BYTES_MAX 16384

/* Begins with `left` bytes of code of this address, which are borrowed. The first code_step() goes
 * to its first instruction. */
void code_begin(struct code *code, uint64_t address, const uint8_t *at, size_t left);

/* The same with a file's code, read into `room`: up to `size` bytes, fewer near the end of the
 * code; or with an exported function that has a size. False: there is none. */
bool code_open(struct runtime_file *file, uint64_t address, uint64_t size,
	       uint8_t room[CODE_BYTES_MAX], struct code *code);
bool code_open_function(struct runtime_file *file, const char *name, uint8_t room[CODE_BYTES_MAX],
			struct code *code);

/* Goes to the next instruction; false at the end, or if it cannot be decoded. */
bool code_step(struct code *code);

/* Is an operand of the current instruction this register, or memory at it? Without an index. */
bool code_is_register(const struct code *code, unsigned operand, ZydisRegister wanted);
bool code_is_memory(const struct code *code, unsigned operand, ZydisRegister base);

/* The address of a variable operand of `size` bytes; 0: the operand is something else. */
uint64_t code_variable(const struct code *code, unsigned operand, unsigned size);

/* The target of a jump or call, 0: neither, or not constant; and whether it is a call of this
 * target. */
uint64_t code_target(const struct code *code);
bool code_calls(const struct code *code, uint64_t address);

/* Receives bytes of the file from `address` on. */
typedef void code_visit(void *context, uint64_t address, const uint8_t *bytes, size_t size);

/*
 * Passes on the sections of the file with exactly these of SHF_ALLOC, SHF_WRITE and SHF_EXECINSTR,
 * such that each span of `window` bytes comes as a whole, once. *left is the number of bytes that
 * may still be read; those beyond are left out.
 */
void code_visit_all(struct runtime_file *file, uint64_t flags, size_t window, uint64_t *left,
		    code_visit *visit, void *context);

/* The addresses of all ret instructions of the function at an address, whose symbol must have a
 * size. Returns their number; negative: none, more than `max`, or code that cannot be decoded to
 * its end. */
int runtime_returns(struct runtime_file *file, uint64_t address, uint64_t *out, size_t max);

#endif
