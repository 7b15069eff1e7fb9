/* SPDX-License-Identifier: BSD-2-Clause */
/* frame_image.h: an ELF file as it is loaded: its words, and its table of frame information. */
/*
 * Pages of files are read as needed, never mapped: truncating a file must not kill the recorder.
 * Not thread-safe.
 */
#ifndef GCPROF_FRAME_IMAGE_H
#define GCPROF_FRAME_IMAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "unwind_file.h"

struct frame_image;

/* The sorted table behind .eh_frame_hdr; link-time addresses. */
struct frame_table {
	uint64_t header;  /* address that the entries are relative to */
	uint64_t entries; /* address of the first entry: two 32-bit distances each */
	uint64_t count;   /* 0: no table */
	uint64_t entry;   /* entry point if the file is a program */
};

/* Takes over `fd`, even on failure. -ENOEXEC if it is not an x86-64 ELF file, -ENOMEM. */
int frame_image_open(int fd, struct frame_image **out);

/* The same for an image in memory, which is borrowed. */
int frame_image_open_memory(const void *data, size_t size, struct frame_image **out);

void frame_image_free(struct frame_image *image); /* NULL is allowed */

const struct frame_table *frame_image_table(const struct frame_image *image);

/* The unwind rows of a Go program, which has no such table; NULL for other files. Built on first
 * use; borrowed. */
const struct unwind_file *frame_image_go_rows(struct frame_image *image);

/* The link-time address of an offset loaded as code; false if it is not. */
bool frame_image_address(const struct frame_image *image, uint64_t offset, uint64_t *address);

/* The link-time extent of the whole file: [*low, *high). */
void frame_image_extent(const struct frame_image *image, uint64_t *low, uint64_t *high);

/* Eight bytes from the file; zeroes after the end of a segment. */
bool frame_image_word(struct frame_image *image, uint64_t address, uint64_t *word);

#endif
