/* SPDX-License-Identifier: BSD-2-Clause */
/* sink.h: where a profile is written to: a file, memory, or whatever a test invents. */
#ifndef GCPROF_SINK_H
#define GCPROF_SINK_H

#include <stddef.h>
#include <stdint.h>

struct sink {
	/* Writes all of it or fails with a negative errno, having written any part of it. */
	int (*write)(struct sink *sink, const void *data, size_t size);
	/* Closes and frees; a negative errno if what was written may not have arrived. */
	int (*close)(struct sink *sink);
};

/* Writes to `path`, opened as output_file_open() does; its errors. */
int sink_file_create(const char *path, struct sink **out);

/* Writes to a descriptor and closes it, also when it fails. */
int sink_file_adopt(int fd, struct sink **out);

/* Writes to a descriptor that stays open after close. */
int sink_fd_create(int fd, struct sink **out);

/* Appends to memory; *data and *size are set at close and belong to the caller (free). */
int sink_memory_create(char **data, size_t *size, struct sink **out);

#endif
