/* SPDX-License-Identifier: BSD-2-Clause */
/* frame_parts.h: private to frame_names.c: interpreted and generated code, and names in memory. */
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
 * Names that are in the memory of the process (frame_place_is_remote()). Functions are unloaded,
 * and all end with their process. Names are therefore requested when a frame leaves its ring, long
 * before it is stored.
 */

struct name_reader;
struct remote_process;
struct remote_names;

/* Both are borrowed, from their first use on. -ENOMEM. */
int remote_names_create(struct files *files, struct remote_names **out);
void remote_names_free(struct remote_names *remote); /* NULL is allowed */

/* What reads the names of processes with a library of this path, whose contents are checked later;
 * NULL: nothing. */
const struct name_reader *remote_names_reader(const char *path);

/* A process of this user mapped such a library as code. */
void remote_names_map(struct remote_names *remote, uint64_t process, const struct event_mmap *event,
		      const struct name_reader *reader, uint32_t user);

/* A process was forked. */
void remote_names_fork(struct remote_names *remote, uint64_t parent, uint64_t child,
		       const struct remote_process *ids);

/* A process ended: its frames can no longer be named. */
void remote_names_end(struct remote_names *remote, struct symbolizer *symbolizer, uint64_t process);

/* Records a frame for remote_names_ask(). -ENOMEM. */
int remote_names_meet(struct remote_names *remote, uint64_t process, uint64_t place);

/* Requests the names of recorded frames, as far as that is possible by now, and not too often;
 * `last`: as far as it is possible. */
int remote_names_ask(struct remote_names *remote, struct symbolizer *symbolizer, bool last);

/* Keeps the answer for a frame. -ENOMEM. */
int remote_names_answer(struct remote_names *remote, const struct symbol_frame *frame,
			const struct symbol *symbols, size_t n);

enum remote_state { REMOTE_UNKNOWN, REMOTE_WAITS, REMOTE_NAMED };

/* The state of a frame. Names stay valid until remote_names_free(). */
enum remote_state remote_names_find(const struct remote_names *remote, uint64_t process,
				    uint64_t place, const struct symbol **symbols, size_t *n);

#endif
