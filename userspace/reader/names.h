/* SPDX-License-Identifier: BSD-2-Clause */
/* names.h: answers READ_NAMES, READ_CODE and READ_TYPES: names of functions and types. */
#ifndef GCPROF_READER_NAMES_H
#define GCPROF_READER_NAMES_H

#include <limits.h>
#include <stddef.h>
#include <stdint.h>

#include "wire.h"
#include "../symbols/symbols.h"

#define NAMES_BATCH      256        /* places per request */
#define NAMES_TEXT_MAX   2048       /* bytes per name or file */
#define NAMES_ANSWER_MAX (16 << 20) /* bytes */
#define NAMES_DUMPS_MAX  4          /* jitdump files per process */

/*
 * A request is this head, then places. Its descriptors are: READ_NAMES, READ_TYPES: the file;
 * READ_CODE: the perf map, if any, then all jitdump files of the process, always in the same order;
 * READ_JAVA: a socket (remote_memory.h), and libjvm.so; READ_BYTECODE: a file with everything
 * reported (record/symbolize/bytecodes.h).
 */
struct names_request {
	uint64_t owner; /* number of the file or process, never reused */
	uint32_t count; /* number of places */
	uint32_t has_map;
	uint32_t reserved;
	uint64_t start, offset; /* READ_JAVA: a mapping of the library with code */
	uint32_t build_id_size; /* required build-id of the file; 0: any */
	unsigned char build_id[BUILD_ID_MAX];
	char base[NAME_MAX + 1]; /* base name of the file; "[vdso]" is the kernel's page */
};

struct name_place {
	uint64_t place; /* offset in the file, address, or number of a type */
	uint64_t time;  /* CLOCK_MONOTONIC ns, because addresses are reused; of bytecode the
			   instruction */
};

/*
 * The answer has one struct name_list per place, followed by a struct name_head, the text and the
 * file for each name. An unreadable file is an error.
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

/* Answers one request and takes over its descriptors. A negative errno. */
int names_answer(struct names *names, struct request *request);

#endif
