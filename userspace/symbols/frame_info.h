/* SPDX-License-Identifier: BSD-2-Clause */
/* frame_info.h: call frame information (DWARF's .eh_frame and .debug_frame), function by function.
 */
#ifndef GCPROF_FRAME_INFO_H
#define GCPROF_FRAME_INFO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../profile/cursor.h"
#include "../../bpf/unwind_rows.h"

/* A section of frame information; borrowed. */
struct frame_section {
	const uint8_t *data;
	size_t size;
	uint64_t address; /* where the linker put it, for addresses relative to themselves */
	bool debug;       /* .debug_frame */
};

/* What functions have in common (CIE). */
struct frame_common {
	size_t offset; /* in the section */
	uint64_t code_align;
	int64_t data_align;
	uint64_t return_register;
	uint8_t encoding; /* of addresses */
	bool augmented;   /* the function's part has a length of its own */
	bool signal;
	struct cursor program;
};

/* One function (FDE). */
struct frame_function {
	const struct frame_common *common;
	uint64_t begin, end;
	struct cursor program;
};

/* Receives the functions in the order of the section. A negative errno ends the reading. */
typedef int frame_visit(void *context, const struct frame_function *function);

/* Reads a section to its end, or to where it makes no sense; *refused counts what is skipped. */
int frame_info_each(const struct frame_section *section, frame_visit *visit, void *context,
		    size_t *refused);

/* Receives the rules of a function: each holds from `address` on until the next. */
typedef int frame_rule_visit(void *context, uint64_t address, const struct unwind_rule *rule);

/*
 * Runs the program of a function. -EBADMSG where it makes no sense (what was
 * handed out before is right), or what the visitor returned. *budget is the number
 * of instructions that may still be run, for all functions of a file: they can share
 * a program. -E2BIG when it is used up.
 */
int frame_program_run(const struct frame_function *function, uint64_t *budget,
		      frame_rule_visit *visit, void *context);

/* Numbers in a program, false at its end. Signed ones wrap as their 64-bit patterns do. */
bool frame_signed(struct cursor *cursor, int64_t *out);
bool frame_fixed(struct cursor *cursor, size_t size, uint64_t *out);

#endif
