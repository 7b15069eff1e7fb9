/* SPDX-License-Identifier: BSD-2-Clause */
/* frame_names.h: writes the names of native and kernel frames into a profile. */
#ifndef GCPROF_FRAME_NAMES_H
#define GCPROF_FRAME_NAMES_H

#include "../world/files.h"
#include "../../profile/writer.h"

struct frame_names;

/* Both are borrowed. */
int frame_names_create(struct profile_writer *writer, struct files *files,
		       struct frame_names **out);
void frame_names_free(struct frame_names *names); /* NULL is allowed */

/* Starts the process that finds names: it reads the kernel's before they are needed. */
void frame_names_prepare(struct frame_names *names);

/*
 * The process that has this number now makes code at run time: reads about it while it lives, which
 * it may not do any more when its events have been put in order. `process`: 0 if it is not known
 * yet.
 */
void frame_names_meet(struct frame_names *names, uint64_t process, uint32_t pid);

/* A process makes code at run time: reads about it, unless that was done. */
int frame_names_generated(struct frame_names *names, uint64_t process, uint32_t pid);

/* A process mapped a jitdump file. */
int frame_names_dump(struct frame_names *names, uint64_t process, const struct module_place *place);

/*
 * Asks for the name of a type, which is in a file of this module under the number `place`, and will
 * be written for the type `number` of `process`. -ENOMEM.
 */
int frame_names_type(struct frame_names *names, uint64_t process, uint64_t number, uint64_t module,
		     uint64_t place);

/* A mapping of a process, whose number is that of /proc, and its end: for Java virtual machines. */
int frame_names_map(struct frame_names *names, uint64_t process, uint32_t pid,
		    const struct event_mmap *event, const char *path);
void frame_names_end(struct frame_names *names, uint64_t process);

/* Frames that came out of a ring: names of Java frames are found at once. */
int frame_names_frames(struct frame_names *names, uint64_t process,
		       const struct event_native *frames, size_t n);

/* A function that an interpreter runs, as it was reported; as bytecodes_add(). */
int frame_names_bytecode(struct frame_names *names, const struct event_bytecode *event,
			 size_t size);

/* Asks for the names of new frames and writes those that were found meanwhile; does not wait. */
int frame_names_write(struct frame_names *names);

/* Writes what was found meanwhile. */
int frame_names_turn(struct frame_names *names);

/* Waits for all that can be found, but only so many ns, and writes it. */
int frame_names_finish(struct frame_names *names, uint64_t ns);

/* Are the names written of all frames that were asked for, as far as they can be found? */
bool frame_names_are_written(const struct frame_names *names);

/* Files so far that frames lie in and that could not be opened or read. */
uint64_t frame_names_unread(const struct frame_names *names);

#endif
