/* SPDX-License-Identifier: BSD-2-Clause */
/* output_file.h: opens all files that gcprof writes. */
#ifndef GCPROF_OUTPUT_FILE_H
#define GCPROF_OUTPUT_FILE_H

struct invoker;

/*
 * Creates or truncates `path` and opens it for writing. Returns the descriptor, or a negative errno
 * for output_file_error(). Overwrites only files of the effective user: regular files without
 * further hard links, or FIFOs; also character devices. Does not follow a symbolic link at the end
 * of the path.
 */
int output_file_open(const char *path);

/* The same with the rights of the invoker. */
int output_file_open_as(const struct invoker *invoker, const char *path);

/* Tells the user why a file could not be opened and what to do; continues a sentence after its
 * name. */
const char *output_file_error(int err);

/* Removes the output if it is a regular file of the effective user. */
void output_file_remove(const char *path);

/* Creates an unnamed file in $TMPDIR or /var/tmp or /tmp, which disappears when closed. */
int output_file_nameless(void);

#endif
