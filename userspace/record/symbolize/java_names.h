/* SPDX-License-Identifier: BSD-2-Clause */
/* java_names.h: has Java frames named as soon as they are met, and keeps the names. */
/*
 * Classes and compiled code go away, and a process takes all of them along. So a frame's names are
 * asked for when it comes out of a ring, long before it is stored.
 */
#ifndef GCPROF_JAVA_NAMES_H
#define GCPROF_JAVA_NAMES_H

#include "../world/files.h"
#include "symbolizer.h"

struct java_names;

/* Both are borrowed, from their first use on. -ENOMEM. */
int java_names_create(struct files *files, struct java_names **out);
void java_names_free(struct java_names *java); /* NULL is allowed */

/* Is this the path of a Java virtual machine's library? What is in it is checked later. */
bool java_names_is_library(const char *path);

/* A process mapped such a library as code; `pid` as /proc calls it here. -ENOMEM. */
int java_names_map(struct java_names *java, uint64_t process, uint32_t pid,
		   const struct event_mmap *event);

/* A process has ended: its frames cannot be named any more. */
void java_names_end(struct java_names *java, struct symbolizer *symbolizer, uint64_t process);

/* Notes the Java frames of a stack. -ENOMEM. */
int java_names_meet(struct java_names *java, uint64_t process, const struct event_native *frames,
		    size_t n);

/* Asks for the names of those that were noted and can be named by now. */
int java_names_ask(struct java_names *java, struct symbolizer *symbolizer);

/* Keeps an answer for such a frame. -ENOMEM. */
int java_names_answer(struct java_names *java, const struct symbol_frame *frame,
		      const struct symbol *symbols, size_t n);

enum java_state { JAVA_UNKNOWN, JAVA_WAITS, JAVA_NAMED };

/* What is known of a frame. Names stay valid until java_names_free(). */
enum java_state java_names_find(const struct java_names *java, uint64_t process, uint64_t place,
				const struct symbol **symbols, size_t *n);

#endif
