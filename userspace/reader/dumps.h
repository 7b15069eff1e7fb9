/* SPDX-License-Identifier: BSD-2-Clause */
/* dumps.h: answers READ_STACK: unwinds stack dumps by libunwind. */
/*
 * A request is a struct dump_request, a struct event_copy and the bytes of the stack; the answer is
 * a struct stack_walk. The reader asks for mappings as needed: it sends an address, 8 bytes, and
 * receives a struct dump_mapping and the file.
 */
#ifndef GCPROF_READER_DUMPS_H
#define GCPROF_READER_DUMPS_H

#include "wire.h"
#include "../symbols/stack_unwind.h"

struct dump_request {
	uint64_t process;
	uint64_t changes; /* generation of its mappings: a new number discards the cached ones */
};

struct dump_mapping {
	uint64_t start, end; /* 0, 0: unmapped */
	uint64_t offset;     /* in the file */
	uint64_t file;       /* a unique number */
	uint64_t is_vdso;    /* 1: the vDSO, which has no file */
};

/* Answers one request. A negative errno. */
int dumps_answer(const struct request *request);

#endif
