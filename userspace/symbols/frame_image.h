/* SPDX-License-Identifier: BSD-2-Clause */
/* frame_image.h: an ELF file as it is loaded: its words, and its table of frame information. */
/*
 * Files are read by pages as they are needed, never mapped: a file that is cut
 * off meanwhile must not kill the recorder. One thread at a time.
 */
#ifndef GCPROF_FRAME_IMAGE_H
#define GCPROF_FRAME_IMAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "unwind_file.h"

struct frame_image;

/* The sorted table behind .eh_frame_hdr; addresses as the linker knows them. */
struct frame_table {
	uint64_t header;  /* address that the entries are relative to */
	uint64_t entries; /* address of the first one: two 32-bit distances each */
	uint64_t count;   /* 0: the file has no table */
	uint64_t entry;   /* where the file is entered when it is a program */
};

/* Takes over `fd`, whatever it returns. -ENOEXEC if it is no x86-64 ELF file, -ENOMEM. */
int frame_image_open(int fd, struct frame_image **out);

/* The same for an image in memory, which has to stay. */
int frame_image_open_memory(const void *data, size_t size, struct frame_image **out);

void frame_image_free(struct frame_image *image); /* NULL is allowed */

const struct frame_table *frame_image_table(const struct frame_image *image);

/* The rows of a Go program, which has no such table; NULL of other files. Made when they are first
 * asked for; borrowed. */
const struct unwind_file *frame_image_go_rows(struct frame_image *image);

/* Where an offset of the file is loaded as code, as the linker knows it; false if nowhere. */
bool frame_image_address(const struct frame_image *image, uint64_t offset, uint64_t *address);

/* Where the linker puts the whole file: [*low, *high). */
void frame_image_extent(const struct frame_image *image, uint64_t *low, uint64_t *high);

/* Eight bytes as the file has them; behind the end of a segment there are zeroes. */
bool frame_image_word(struct frame_image *image, uint64_t address, uint64_t *word);

#endif
