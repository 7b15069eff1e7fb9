/* SPDX-License-Identifier: BSD-2-Clause */
/* frame_parts.h: private to frame_names.c: interpreted, generated and Java code. */
#ifndef GCPROF_FRAME_PARTS_H
#define GCPROF_FRAME_PARTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../../../bpf/events.h"
#include "../opener/code_owner.h"
#include "../opener/opener.h"
#include "../world/files.h"
#include "symbolizer.h"

struct bytecodes;

int bytecodes_create(struct bytecodes **out);     /* -ENOMEM */
void bytecodes_free(struct bytecodes *bytecodes); /* NULL is allowed */

/* Keeps an event of a process of this user, `size` bytes of which are readable. -EBADMSG; -ENOSPC:
 * the user has too many; other errors. */
int bytecodes_add(struct bytecodes *bytecodes, const struct event_bytecode *event, size_t size,
		  uint32_t user);

/* Its offset in the file of all reports; false: unknown. */
bool bytecodes_find(const struct bytecodes *bytecodes, uint64_t number, uint64_t *offset);

/* That file, read-only and borrowed; -1: none yet. */
int bytecodes_file(const struct bytecodes *bytecodes);

/* What /proc says about processes that generate code, read while they run. */

struct code_owners;

int code_owners_create(struct opener *opener, struct code_owners **out); /* borrowed; -ENOMEM */
void code_owners_free(struct code_owners *owners);                       /* NULL is allowed */

/* The process with this pid generates code: reads about it. `process`: 0 if not known yet. */
void code_owners_meet(struct code_owners *owners, uint64_t process, uint32_t pid);

/* The same; NULL if it had ended, or its user has too many. Valid until it is forgotten. */
const struct code_owner *code_owners_find(struct code_owners *owners, uint64_t process,
					  uint32_t pid);

/* NULL: unknown. */
const struct code_owner *code_owners_get(const struct code_owners *owners, uint64_t process);

/* False: it was unknown. */
bool code_owners_forget(struct code_owners *owners, uint64_t process);

/*
 * Names of Java frames. Classes and compiled code are unloaded, and all of them end with their
 * process. Names are therefore requested when a frame leaves its ring, long before it is stored.
 */

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
