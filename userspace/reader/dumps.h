/* SPDX-License-Identifier: BSD-2-Clause */
/* dumps.h: stack dumps walked by libunwind as answers of the reader: READ_STACK. */
/*
 * A request is a struct dump_request, a struct event_copy and the bytes of the stack; the
 * answer is a struct stack_walk. What is mapped the reader asks for as it needs it: with an
 * address, 8 bytes; it receives a struct dump_mapping, and the file.
 */
#ifndef GCPROF_READER_DUMPS_H
#define GCPROF_READER_DUMPS_H

#include "wire.h"
#include "../symbols/stack_unwind.h"

struct dump_request {
	uint64_t process;
	uint64_t changes; /* of what it has mapped: with another number it is asked for anew */
};

struct dump_mapping {
	uint64_t start, end; /* 0, 0: nothing is mapped there */
	uint64_t offset;     /* in the file */
	uint64_t file;       /* a number of its own */
	uint64_t is_vdso;    /* 1: the kernel's page of code, which has no file */
};

/* Answers one request. A negative errno. */
int dumps_answer(const struct request *request);

#endif
