/* SPDX-License-Identifier: BSD-2-Clause */
/* output_file.h: writes files that appear, or replace earlier ones, only when they are complete. */
#ifndef GCPROF_OUTPUT_FILE_H
#define GCPROF_OUTPUT_FILE_H

#include <stdbool.h>
#include <sys/types.h>

/* How files of a format are recognised: by this text at this offset, or anywhere in the first 32
 * KiB if that is negative; without a text, as folded stacks. */
struct output_mark {
	int at;
	const char *text;
};

#define OUTPUT_OLD ".old" /* added to the name of an earlier file that is kept */

struct output_file {
	const char *path; /* borrowed */
	int fd;           /* to write to; above those of the standard streams */
	bool direct;      /* standard output, a FIFO or a device: written in place */
	bool keep;        /* an earlier file is renamed, not replaced */
	const struct output_mark *mark;
	char temporary[32]; /* the file's name until it is published; empty: none */
	dev_t device;       /* of the folder */
	ino_t inode;
};

/* Does the path stand for standard output: "-" or /dev/stdout? */
bool output_file_is_stdout(const char *path);

/*
 * Opens a new file, without a name if possible, for what `path` will be; or a FIFO, a character
 * device or standard output. Refuses to replace files of other users, with other links, or that do
 * not have the mark (except empty ones), and symbolic links. With `keep`, the same for the file
 * that has the name for the earlier one. Set path, mark and keep before. 0, or a negative errno for
 * output_file_error(). Afterwards, call output_file_close() in any case.
 */
int output_file_open(struct output_file *file);

/* Gives a complete file its name. Errors as above, with which everything stays as it was. */
int output_file_publish(struct output_file *file);

/* Closes; removes a file that was not published. */
void output_file_close(struct output_file *file);

/* Removes the temporary name of a file that was not published. */
void output_file_remove_temporary(const struct output_file *file);

/* Tells the user why a file could not be opened or published and what to do; continues a sentence
 * after its name. */
const char *output_file_error(int err);

/* Removes the output if it is a regular file of the effective user. */
void output_file_remove(const char *path);

/* Creates an unnamed file in $TMPDIR or /var/tmp or /tmp, which disappears when closed. */
int output_file_nameless(void);

#endif
