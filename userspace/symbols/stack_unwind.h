/* SPDX-License-Identifier: BSD-2-Clause */
/* stack_unwind.h: unwinds a stack dump with libunwind, by the frame information of files. */
/*
 * Slow and, except for Go programs, independent of the other unwinders. Not thread-safe.
 */
#ifndef GCPROF_STACK_UNWIND_H
#define GCPROF_STACK_UNWIND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../../bpf/events.h"
#include "unwind_file.h"

/*
 * Pages of files are read as needed, never mapped: truncating a file must not kill the recorder.
 * Not thread-safe.
 */

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

struct stack_unwinder;

/* Mapped code: [start, end), and the difference to link-time addresses. */
struct stack_module {
	uint64_t start, end;
	uint64_t bias;
	struct frame_image *image;
};

/* Finds the module of an instruction; false if there is no readable one. */
typedef bool stack_find_module(void *context, uint64_t ip, struct stack_module *out);

struct stack_walk {
	struct event_native frames[STACK_DEPTH_MAX]; /* innermost first, as from the kernel */
	unsigned count;
	uint32_t quality; /* enum stack_quality, user bits */
	unsigned guessed; /* frames without frame information */
	bool cut_short;   /* it continued beyond the end of the dump */
};

int stack_unwinder_create(stack_find_module *find, void *context, struct stack_unwinder **out);
void stack_unwinder_free(struct stack_unwinder *unwinder); /* NULL is allowed */

/* The mappings have changed, or the next stack is of another process. */
void stack_unwinder_forget(struct stack_unwinder *unwinder);

/* Walks a stack dump, `size` bytes at `bytes`. Never fails: quality tells what is missing. */
void stack_unwinder_walk(struct stack_unwinder *unwinder, const struct event_copy *copy,
			 const void *bytes, struct stack_walk *out);

#endif
