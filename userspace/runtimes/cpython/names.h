/* SPDX-License-Identifier: BSD-2-Clause */
/* names.h: decodes a Python function's name, file and line table. */
#ifndef GCPROF_CPYTHON_NAMES_H
#define GCPROF_CPYTHON_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../../../bpf/events.h"
#include "../../symbols/symbol.h"

/* A function as reported by the kernel side, and room for its texts in UTF-8. */
struct cpython_function {
	union {
		struct event_bytecode event;
		char bytes[sizeof(struct event_bytecode) + 2 * BYTECODE_TEXT_MAX +
			   BYTECODE_TABLE_MAX];
	} in;
	size_t size; /* bytes present */
	char name[3 * BYTECODE_TEXT_MAX], file[3 * BYTECODE_TEXT_MAX];
};

/*
 * Names an instruction of the function, whose data is not trusted. False: it has no name. Texts
 * stay valid until the next call.
 */
bool cpython_name(struct cpython_function *function, uint64_t instruction, struct symbol *out);

#endif
