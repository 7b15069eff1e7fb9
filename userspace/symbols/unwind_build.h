/* SPDX-License-Identifier: BSD-2-Clause */
/* unwind_build.h: makes sorted rows out of the frame information of functions in any order. */
#ifndef GCPROF_UNWIND_BUILD_H
#define GCPROF_UNWIND_BUILD_H

#include "frame_info.h"
#include "unwind_file.h"

struct unwind_builder;

/* NULL: no memory. */
struct unwind_builder *unwind_builder_create(void);
void unwind_builder_free(struct unwind_builder *builder); /* NULL is allowed */

/* Adds the functions of a section. -E2BIG, -ENOMEM. */
int unwind_builder_add(struct unwind_builder *builder, const struct frame_section *section);

/* Adds a function whose rows the caller knows, which follow in order of address. -E2BIG, -ENOMEM.
 */
int unwind_builder_function(struct unwind_builder *builder, uint64_t begin, uint64_t end);
int unwind_builder_row(struct unwind_builder *builder, uint64_t address,
		       const struct unwind_rule *rule);

/*
 * What begins at the entry point of a file has no caller. The linker says so
 * nowhere for its own, where each program begins. After all sections.
 */
int unwind_builder_add_entry(struct unwind_builder *builder, uint64_t address);

/* Functions so far. */
size_t unwind_builder_count(const struct unwind_builder *builder);

/*
 * Fills rows, pages and rules of `file` for code between two addresses; what the
 * file gets is its own. -E2BIG if there is too much code or there are too many
 * rows, -ENODATA if there are none, -ENOMEM.
 */
int unwind_builder_finish(struct unwind_builder *builder, uint64_t low, uint64_t high,
			  struct unwind_file *file);

#endif
