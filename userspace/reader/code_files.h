/* SPDX-License-Identifier: BSD-2-Clause */
/* code_files.h: the files in which processes describe code that they make at run time, as they
 * grow. */
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
 * Reads what a perf map or a jitdump file of the process has new, now; takes over
 * the descriptor. A perf map comes again each time, with another descriptor; a
 * jitdump file is kept and read on whenever a name of the process is asked for.
 * -ENOMEM; what makes no sense in a file is left out.
 */
int code_files_add(struct code_files *files, uint64_t process, bool dump, int fd);

/* Jitdump files of a process that are being read. */
size_t code_files_dumps(const struct code_files *files, uint64_t process);

/*
 * The function that was at an address in the process at that time (CLOCK_MONOTONIC
 * ns). Jitdump files say when a function came; what is new in a perf map came after
 * the map was read before.
 */
bool code_files_find(struct code_files *files, uint64_t process, uint64_t address, uint64_t time,
		     struct symbol *out);

#endif
