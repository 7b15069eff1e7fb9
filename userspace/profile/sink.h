/* SPDX-License-Identifier: BSD-2-Clause */
/* sink.h: where a profile is written to: a file, memory, or whatever a test invents. */
#ifndef GCPROF_SINK_H
#define GCPROF_SINK_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct sink {
	/* Writes all of it or fails with a negative errno, having written any part of it. */
	int (*write)(struct sink *sink, const void *data, size_t size);
	/* Closes and frees; a negative errno if what was written may not have arrived. */
	int (*close)(struct sink *sink);
};

/*
 * Creates `path` for writing (O_NOFOLLOW for the last component, truncated only
 * if it is a regular file) and gives it to `uid` and `gid` (-1: leave).
 */
int sink_file_create(const char *path, uid_t uid, gid_t gid, struct sink **out);

/* Writes to a descriptor that stays open after close. */
int sink_fd_create(int fd, struct sink **out);

/* Appends to memory; *data and *size are set at close and belong to the caller (free). */
int sink_memory_create(char **data, size_t *size, struct sink **out);

#endif
