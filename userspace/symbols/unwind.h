/* SPDX-License-Identifier: BSD-2-Clause */
/* unwind.h: unwind rows of an ELF file, compiled from its call frame information. */
/*
 * Reads untrusted files. Code that no rule can express, or with malformed information, becomes a
 * range without a rule. Only a file without any usable information is an error.
 */
#ifndef GCPROF_UNWIND_H
#define GCPROF_UNWIND_H

#include <stddef.h>

#include "unwind_file.h"

/*
 * Compiles the rows of the file behind `fd`, from .eh_frame or else from .debug_frame. The
 * descriptor may be closed afterwards. -ENOEXEC if it is not an x86-64 ELF file, -ENODATA without
 * frame information, -E2BIG, -ENOMEM. Thread-safe.
 */
int unwind_read(int fd, struct unwind_file **out);

/* The same for Go programs only: -ENOEXEC for others. */
int unwind_read_go(int fd, struct unwind_file **out);

/* The same for an image in memory, which may be freed afterwards. */
int unwind_read_memory(void *image, size_t size, struct unwind_file **out);

#endif
