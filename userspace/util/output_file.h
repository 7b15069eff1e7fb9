/* SPDX-License-Identifier: BSD-2-Clause */
/* output_file.h: opens every file that gcprof writes. */
#ifndef GCPROF_OUTPUT_FILE_H
#define GCPROF_OUTPUT_FILE_H

struct invoker;

/*
 * Makes `path`, or empties it, and opens it for writing; the descriptor, or a
 * negative errno for output_file_error(). Only what belongs to the effective user is
 * written over: a regular file without further hard links, or a FIFO; besides them
 * character devices. Links at the end of the path are not followed.
 */
int output_file_open(const char *path);

/* The same with the rights of the invoker. */
int output_file_open_as(const struct invoker *invoker, const char *path);

/* Why a file could not be opened, and what to do, for a person; begins behind its name. */
const char *output_file_error(int err);

/* Takes away what was written, where it is a regular file of the effective user. */
void output_file_remove(const char *path);

/* A file without a name, in $TMPDIR or /var/tmp or /tmp; gone when it is closed. */
int output_file_nameless(void);

#endif
