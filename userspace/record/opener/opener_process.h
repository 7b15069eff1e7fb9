/* SPDX-License-Identifier: BSD-2-Clause */
/* opener_process.h: the parts of the opener process. */
#ifndef GCPROF_OPENER_PROCESS_H
#define GCPROF_OPENER_PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "opener_requests.h"

/* Reports the device of a file before opening it, in case that never ends. */
void opener_announce(uint64_t device);

/* Each opens and describes the file: a descriptor or a negative errno. */
int opener_open_mapped(const struct opener_head *head, const struct opener_mapped *wanted,
		       const char *path, struct opener_file *out);
int opener_open_theirs(const struct opener_head *head, const char *path, struct opener_file *out);
int opener_open_debug(const struct opener_head *head, const struct opener_debug *wanted,
		      int program, struct opener_file *out);
int opener_open_map(const struct opener_head *head, const struct code_owner *owner,
		    struct opener_file *out);

/* Hashes an open file: 0 or a negative errno, as opener_hash(). */
int opener_hash_file(const struct opener_head *head, const struct opener_hash *wanted, int fd,
		     struct opener_block *out);

/* A socket to a process that reads a program's memory, and the program's user; or a negative errno,
 * as opener_space(). */
int opener_open_space(const struct opener_space *wanted, uid_t *user);

/* Starts that process: its socket (../../reader/remote_memory.h) or a negative errno; -EAGAIN: the
 * program's `user` already has a quarter of all. `memory`, a borrowed /proc/PID/mem, identifies the
 * program. */
int opener_serve_space(int memory, uint32_t pid, uid_t user);

/* A file with the executable lines of /proc/PID/maps, up to a MiB; or a negative errno. As
 * opener_maps(). */
int opener_read_maps(uint32_t pid);

/* A file with the arguments and the environment of a program, up to a MiB, and the inode of what it
 * executes; or a negative errno. */
int opener_read_words(uint32_t pid, struct opener_file *executed);

/* Changes a block in a program's memory: 0 or a negative errno, as opener_memory(). */
int opener_change_memory(const struct opener_memory *wanted, struct opener_block *out);

/* Keeps the list in this file (undo.h), and this process beyond its parent's death. */
void opener_undo_later(int fd);

/* Undoes what that lists, if there is one: after the parent's death. Takes some 2 s more for
 * programs whose memory cannot be reached. */
void opener_undo(void);

#endif
