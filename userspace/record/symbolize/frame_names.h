/* SPDX-License-Identifier: BSD-2-Clause */
/* frame_names.h: writes the names of native, kernel and managed frames to a profile. */
#ifndef GCPROF_FRAME_NAMES_H
#define GCPROF_FRAME_NAMES_H

#include "../world/files.h"
#include "../../profile/writer.h"

struct frame_names;
struct session;

/* Both are borrowed. */
int frame_names_create(struct profile_writer *writer, struct files *files,
		       struct frame_names **out);
void frame_names_free(struct frame_names *names); /* NULL is allowed */

/* Starts the reader process before the first request. */
void frame_names_prepare(struct frame_names *names);

/* From now on kernel functions get names. Borrowed, until frame_names_finish(). */
void frame_names_know_kernel(struct frame_names *names, struct session *session);

/*
 * The process with this pid generates code: reads about it now, since it may be gone when its
 * events have been sorted. `process`: 0 if not known yet.
 */
void frame_names_meet(struct frame_names *names, uint64_t process, uint32_t pid);

/* A process generates code: reads about it, unless that was done. */
int frame_names_generated(struct frame_names *names, uint64_t process, uint32_t pid);

/* A process mapped a jitdump file. */
int frame_names_dump(struct frame_names *names, uint64_t process, const struct module_place *place);

/*
 * Requests a type's name, which is in a file of this module under the number `place`. It will be
 * written for the type `number` of `process`. -ENOMEM.
 */
int frame_names_type(struct frame_names *names, uint64_t process, uint64_t number, uint64_t module,
		     uint64_t place);

/* A mapping of a process of this user, a fork, and the process's end: for names in memory. */
struct remote_process {
	uint32_t pid, proc_pid; /* proc_pid: in this /proc */
	uint32_t user;
};

void frame_names_map(struct frame_names *names, uint64_t process, const struct event_mmap *event,
		     const char *path, uint32_t user);
void frame_names_fork(struct frame_names *names, uint64_t parent, uint64_t child,
		      const struct remote_process *ids);
void frame_names_end(struct frame_names *names, uint64_t process);

/* The names of a process that ended a while ago were requested: its code gets no others. */
void frame_names_forget(struct frame_names *names, uint64_t process);

/* The native frames of a stack that left a ring, and the managed ones behind them: requests names
 * in the memory of their process at once. */
int frame_names_frames(struct frame_names *names, uint64_t process, const struct event_stack *stack,
		       const struct event_native *frames);

/* A report of an interpreted function; errors as bytecodes_add(). */
int frame_names_bytecode(struct frame_names *names, const struct event_bytecode *event, size_t size,
			 uint32_t user);

/* Requests the names of new frames and writes those that were found; does not wait. */
int frame_names_write(struct frame_names *names);

/* Writes the names that were found. */
int frame_names_turn(struct frame_names *names);

/* Waits for all names that can be found, at most `ns`, and writes them. */
int frame_names_finish(struct frame_names *names, uint64_t ns);

/* Are the names of all requested frames written, as far as they can be found? */
bool frame_names_are_written(const struct frame_names *names);

/* Number of files with frames that could not be opened or read. */
uint64_t frame_names_unread(const struct frame_names *names);

/* Number of frames whose name was not found in memory, and that stay without one. */
uint64_t frame_names_nameless(const struct frame_names *names);

/* Number of frames of generated code that wait no longer, because there were too many. */
uint64_t frame_names_unnamed(const struct frame_names *names);

#endif
