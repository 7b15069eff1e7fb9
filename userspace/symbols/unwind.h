/* SPDX-License-Identifier: BSD-2-Clause */
/* unwind.h: unwind rows of an ELF file, compiled from its call frame information. */
/*
 * Reads files that are not trusted. What cannot be expressed as a rule, or
 * makes no sense, becomes a stretch without a rule; only a file that has nothing
 * usable at all is an error.
 */
#ifndef GCPROF_UNWIND_H
#define GCPROF_UNWIND_H

#include <stddef.h>

#include "unwind_file.h"

/*
 * Compiles the rows of the file behind `fd`, from .eh_frame or else from
 * .debug_frame. The descriptor may be closed afterwards. -ENOEXEC if it is no
 * x86-64 ELF file, -ENODATA if it has no frame information, -E2BIG, -ENOMEM.
 * Thread-safe.
 */
int unwind_read(int fd, struct unwind_file **out);

/* The same for Go programs only: -ENOEXEC if it is none. */
int unwind_read_go(int fd, struct unwind_file **out);

/* The same for an image in memory, which may go away afterwards. */
int unwind_read_memory(void *image, size_t size, struct unwind_file **out);

#endif
