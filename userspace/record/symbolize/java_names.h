/* SPDX-License-Identifier: BSD-2-Clause */
/* java_names.h: requests the names of Java frames as soon as they are found, and keeps them. */
/*
 * Classes and compiled code are unloaded, and all of them end with their process. Names are
 * therefore requested when a frame leaves its ring, long before it is stored.
 */
#ifndef GCPROF_JAVA_NAMES_H
#define GCPROF_JAVA_NAMES_H

#include "../world/files.h"
#include "symbolizer.h"

struct java_names;

/* Both are borrowed, from their first use on. -ENOMEM. */
int java_names_create(struct files *files, struct java_names **out);
void java_names_free(struct java_names *java); /* NULL is allowed */

/* Is this the path of a Java virtual machine's library? Its contents are checked later. */
bool java_names_is_library(const char *path);

/* A process of this user mapped such a library as code. -ENOMEM. */
int java_names_map(struct java_names *java, uint64_t process, const struct event_mmap *event,
		   uint32_t user);

/* A process ended: its frames can no longer be named. */
void java_names_end(struct java_names *java, struct symbolizer *symbolizer, uint64_t process);

/* Records the Java frames of a stack for java_names_ask(). -ENOMEM. */
int java_names_meet(struct java_names *java, uint64_t process, const struct event_native *frames,
		    size_t n);

/* Requests the names of recorded frames, as far as that is possible by now. */
int java_names_ask(struct java_names *java, struct symbolizer *symbolizer);

/* Keeps the answer for a frame. -ENOMEM. */
int java_names_answer(struct java_names *java, const struct symbol_frame *frame,
		      const struct symbol *symbols, size_t n);

enum java_state { JAVA_UNKNOWN, JAVA_WAITS, JAVA_NAMED };

/* The state of a frame. Names stay valid until java_names_free(). */
enum java_state java_names_find(const struct java_names *java, uint64_t process, uint64_t place,
				const struct symbol **symbols, size_t *n);

#endif
