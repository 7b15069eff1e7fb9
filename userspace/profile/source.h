/* SPDX-License-Identifier: BSD-2-Clause */
/* source.h: origin of a profile: a file or memory. */
#ifndef GCPROF_SOURCE_H
#define GCPROF_SOURCE_H

#include <stddef.h>
#include <sys/types.h>
#include <stdint.h>

struct source {
	/* Reads up to `size` bytes; 0 at the end, or a negative errno. */
	ssize_t (*read)(struct source *source, void *data, size_t size);
	/* Frees. NULL is not allowed. */
	void (*close)(struct source *source);
};

/* "-" is the standard input. */
int source_file_open(const char *path, struct source **out);

/* Takes over the descriptor, even on failure. */
int source_fd_open(int fd, struct source **out);

/* `data` is borrowed until close. */
int source_memory_open(const void *data, size_t size, struct source **out);

#endif
