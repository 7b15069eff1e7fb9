/* SPDX-License-Identifier: BSD-2-Clause */
/* names.h: names of functions and types as answers of the reader: READ_NAMES, READ_KERNEL,
 * READ_CODE, READ_TYPES. */
#ifndef GCPROF_READER_NAMES_H
#define GCPROF_READER_NAMES_H

#include <limits.h>
#include <stddef.h>
#include <stdint.h>

#include "wire.h"
#include "../symbols/symbols.h"

#define NAMES_BATCH      256        /* places of one request */
#define NAMES_TEXT_MAX   2048       /* bytes of one name or file */
#define NAMES_ANSWER_MAX (16 << 20) /* bytes */
#define NAMES_DUMPS_MAX  4          /* jitdump files of a process */

/*
 * A request is this head and places. With it come descriptors: READ_NAMES, READ_TYPES: the file;
 * READ_KERNEL: /proc/kallsyms; READ_CODE: a perf map if there is one, then all jitdump
 * files of the process, always in the same order; READ_JAVA: a socket (remote_memory.h), and
 * libjvm.so;
 * READ_BYTECODE: a file with all that was reported (record/symbolize/bytecodes.h).
 */
struct names_request {
	uint64_t owner; /* of the file or process: never used again */
	uint32_t count; /* of places */
	uint32_t has_map;
	uint32_t reserved;
	uint64_t start, offset; /* READ_JAVA: of a mapping of the library that holds code */
	uint32_t build_id_size; /* of the file, which is used only if it has this one; 0: any */
	unsigned char build_id[BUILD_ID_MAX];
	char base[NAME_MAX + 1]; /* what the file is called; "[vdso]" is the kernel's page */
};

struct name_place {
	uint64_t place; /* offset in the file, address, or number of a type */
	uint64_t time;  /* when it was there, CLOCK_MONOTONIC ns: addresses are used again; of
			   bytecode the instruction */
};

/*
 * The answer has for each place a struct name_list, then for each name a struct
 * name_head, its text and its file. If the file cannot be read it is an error.
 */
struct name_list {
	uint32_t count, reserved;
};

struct name_head {
	uint32_t line, begin;
	uint32_t name_size, file_size;
};

struct names;

int names_create(struct names **out);

/* Answers one request, and takes over its descriptors. A negative errno. */
int names_answer(struct names *names, struct request *request);

#endif
