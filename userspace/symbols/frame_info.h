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
	uint64_t address; /* its link-time address, for self-relative addresses */
	bool debug;       /* .debug_frame */
};

/* The common part of several functions (CIE). */
struct frame_common {
	size_t offset; /* in the section */
	uint64_t code_align;
	int64_t data_align;
	uint64_t return_register;
	uint8_t encoding; /* of addresses */
	bool augmented;   /* the function's part has an explicit length */
	bool signal;
	struct cursor program;
};

/* A function (FDE). */
struct frame_function {
	const struct frame_common *common;
	uint64_t begin, end;
	struct cursor program;
};

/* Receives the functions in section order. A negative errno ends the reading. */
typedef int frame_visit(void *context, const struct frame_function *function);

/* Reads a section to its end, or to malformed data; *refused counts skipped entries. */
int frame_info_each(const struct frame_section *section, frame_visit *visit, void *context,
		    size_t *refused);

/* Receives the rules of a function: each holds from `address` to the next one. */
typedef int frame_rule_visit(void *context, uint64_t address, const struct unwind_rule *rule);

/*
 * Runs the frame program of a function. -EBADMSG for malformed data (rules passed on before are
 * valid), or the visitor's result. *budget is the number of instructions left for all functions of
 * a file, because functions can share a program; -E2BIG when it is exhausted.
 */
int frame_program_run(const struct frame_function *function, uint64_t *budget,
		      frame_rule_visit *visit, void *context);

/* Reads numbers of a program, false at its end. Signed ones wrap like their 64-bit patterns. */
bool frame_signed(struct cursor *cursor, int64_t *out);
bool frame_fixed(struct cursor *cursor, size_t size, uint64_t *out);

#endif
