/* SPDX-License-Identifier: BSD-2-Clause */
/* buffer.h: a growing byte buffer. */
#ifndef GCPROF_BUFFER_H
#define GCPROF_BUFFER_H

#include <stddef.h>
#include <stdint.h>

/* All zero is an empty buffer. Owned by its declarer; release with buffer_free(). */
struct buffer {
	char *data;
	size_t size;
	size_t capacity;
};

/* Makes room for `extra` more bytes; -ENOMEM leaves the buffer as it was. */
int buffer_reserve(struct buffer *buffer, size_t extra);
int buffer_append(struct buffer *buffer, const void *data, size_t size);
void buffer_free(struct buffer *buffer);

#endif
