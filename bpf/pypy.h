/* SPDX-License-Identifier: BSD-2-Clause */
/* pypy.h: what the walker of PyPy's functions knows of an interpreter. */
#ifndef GCPROF_PYPY_H
#define GCPROF_PYPY_H

#ifndef __bpf__
#include <stdint.h>
#endif

/* Link-time addresses, decoded from the file's code. All 0: the file has no interpreter, or its
 * code differs. */
struct pypy_layout {
	/* Two words in memory: the module and the offset of the thread's own data, for
	 * __tls_get_addr(). */
	uint64_t storage;
	uint64_t list;    /* offset in these data: the first entry of the thread's list */
	uint64_t codes;   /* the head of the skip list of compiled code */
	uint64_t entered; /* where the call returns to by which a function in the list is run; 0:
			     unknown */
};

#define PYPY_READY 42 /* the first 32 bits of the thread's data, while they are valid */

/* An entry of the thread's list: the next one, a value, its kind. */
enum pypy_kind {
	PYPY_FUNCTION = 1, /* value: the function's id, a multiple of 4 */
	PYPY_COMPILED = 3, /* value: rsp of compiled code. What it called returns to the address
			      right below that */
};

/* A node of the skip list: begin of the code, data, and the next node of each level. */
#define PYPY_CODE_LEVELS 8
#define PYPY_CODE_NEXT   16

/* The frame of compiled code, from its rsp on: saved rbp and rbx, its entry of the list, the return
 * address. */
#define PYPY_FRAME_SAVED  96
#define PYPY_FRAME_ENTRY  152
#define PYPY_FRAME_RETURN 184

#endif
