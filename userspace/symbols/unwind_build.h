/* SPDX-License-Identifier: BSD-2-Clause */
/* unwind_build.h: builds sorted rows from the frame information of functions in any order. */
#ifndef GCPROF_UNWIND_BUILD_H
#define GCPROF_UNWIND_BUILD_H

#include <gelf.h>

#include "frame_info.h"
#include "unwind_file.h"

struct unwind_builder;

/* Of the code that a signal handler returns to: its caller has the registers that the kernel saved
 * above the stack pointer. */
extern const struct unwind_rule unwind_signal_rule;

/* NULL: no memory. */
struct unwind_builder *unwind_builder_create(void);
void unwind_builder_free(struct unwind_builder *builder); /* NULL is allowed */

/* Adds the functions of a section. -E2BIG, -ENOMEM. */
int unwind_builder_add(struct unwind_builder *builder, const struct frame_section *section);

/* Adds a function whose rows the caller knows and adds next, in address order. -E2BIG, -ENOMEM. */
int unwind_builder_function(struct unwind_builder *builder, uint64_t begin, uint64_t end);
int unwind_builder_row(struct unwind_builder *builder, uint64_t address,
		       const struct unwind_rule *rule);

/* Visits the code between two addresses that no function has so far, and that is too long for
 * padding, in address order. The visitor may add functions. A visit other than 0 ends it and is
 * returned. */
typedef int unwind_gap_visit(void *context, uint64_t begin, uint64_t end);
int unwind_builder_gaps(struct unwind_builder *builder, uint64_t low, uint64_t high,
			unwind_gap_visit *visit, void *context);

/*
 * Marks the code at the entry point of a file as having no caller; the dynamic linker has no
 * information for its own, where each program begins. Call after all sections.
 */
int unwind_builder_add_entry(struct unwind_builder *builder, uint64_t address);

/* Number of functions so far. */
size_t unwind_builder_count(const struct unwind_builder *builder);

/*
 * Fills rows, pages and rules of `file` for code between two addresses; the file owns them. -E2BIG
 * for too much code or too many rows, -ENODATA for none, -ENOMEM.
 */
int unwind_builder_finish(struct unwind_builder *builder, uint64_t low, uint64_t high,
			  struct unwind_file *file);

/* Adds the functions of a Go program; nothing for other files. -E2BIG, -ENOMEM. */
int go_unwind_add(Elf *elf, struct unwind_builder *builder);

#endif
