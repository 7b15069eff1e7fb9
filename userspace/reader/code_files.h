/* SPDX-License-Identifier: BSD-2-Clause */
/* code_files.h: growing files in which processes describe code generated at run time. */
#ifndef GCPROF_CODE_FILES_H
#define GCPROF_CODE_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../symbols/symbols.h"

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
