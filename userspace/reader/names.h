/* SPDX-License-Identifier: BSD-2-Clause */
/* names.h: answers READ_NAMES, READ_CODE and READ_TYPES, also from files that grow. */
#ifndef GCPROF_READER_NAMES_H
#define GCPROF_READER_NAMES_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../symbols/symbols.h"
#include "wire.h"

#define NAMES_BATCH      256        /* places per request */
#define NAMES_TEXT_MAX   2048       /* bytes per name or file */
#define NAMES_ANSWER_MAX (16 << 20) /* bytes */
#define NAMES_DUMPS_MAX  4          /* jitdump files per process */

/*
 * A request is this head, then places. Its descriptors are: READ_NAMES, READ_TYPES: the file;
 * READ_CODE: the perf map, if any, then all jitdump files of the process, always in the same order;
 * READ_REMOTE: a socket (remote_memory.h), and the library; READ_BYTECODE: a file with everything
 * reported (record/symbolize/bytecodes.c).
 */
struct names_request {
	uint64_t owner; /* number of the file or process, never reused */
	uint32_t count; /* number of places */
	uint32_t has_map;
	uint32_t reserved;
	uint64_t start, offset; /* READ_REMOTE: a mapping of the library with code */
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

/* Growing files in which processes describe code generated at run time. */

struct code_files;

/* NULL: no memory. */
struct code_files *code_files_create(void);
void code_files_free(struct code_files *files); /* NULL is allowed */

/*
 * Reads the new data of a perf map or jitdump file of the process; takes over the descriptor. Pass
 * a perf map each time, with a new descriptor. A jitdump file is kept, and read further whenever a
 * name of the process is requested. -ENOMEM; malformed parts of a file are skipped.
 */
int code_files_add(struct code_files *files, uint64_t process, bool dump, int fd);

/* Number of jitdump files of a process that are being read. */
size_t code_files_dumps(const struct code_files *files, uint64_t process);

/*
 * The function at an address in the process at that time (CLOCK_MONOTONIC ns). Jitdump files give
 * the time of each function. New entries in a perf map date from after the previous reading.
 */
bool code_files_find(struct code_files *files, uint64_t process, uint64_t address, uint64_t time,
		     struct symbol *out);

#endif
