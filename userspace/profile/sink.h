/* SPDX-License-Identifier: BSD-2-Clause */
/* sink.h: destination of a profile: a file, memory, or a test double. */
#ifndef GCPROF_SINK_H
#define GCPROF_SINK_H

#include <stddef.h>
#include <stdint.h>

struct sink {
	/* Writes everything, or fails with a negative errno after writing any part of it. */
	int (*write)(struct sink *sink, const void *data, size_t size);
	/* Closes and frees; a negative errno if data may be lost. */
	int (*close)(struct sink *sink);
};

/* Writes to a descriptor; closes it, even on failure. */
int sink_file_adopt(int fd, struct sink **out);

/* Writes to a descriptor that stays open after close. */
int sink_fd_create(int fd, struct sink **out);

/* Appends to memory; *data and *size are set at close and belong to the caller (free). */
int sink_memory_create(char **data, size_t *size, struct sink **out);

#endif
