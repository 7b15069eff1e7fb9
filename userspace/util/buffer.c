/* SPDX-License-Identifier: BSD-2-Clause */
/* buffer.c: a byte buffer that grows by doubling. */
#include "buffer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int buffer_reserve(struct buffer *buffer, size_t extra)
{
	size_t capacity = buffer->capacity ? buffer->capacity : 256;
	char *data;

	if (extra <= buffer->capacity - buffer->size)
		return 0;
	if (extra > SIZE_MAX / 2 - buffer->size)
		return -ENOMEM;
	while (capacity < buffer->size + extra)
		capacity *= 2;
	data = realloc(buffer->data, capacity);
	if (!data)
		return -ENOMEM;
	buffer->data = data;
	buffer->capacity = capacity;
	return 0;
}

int buffer_append(struct buffer *buffer, const void *data, size_t size)
{
	int err = buffer_reserve(buffer, size);

	if (err || !size)
		return err;
	memcpy(buffer->data + buffer->size, data, size);
	buffer->size += size;
	return 0;
}

void buffer_free(struct buffer *buffer)
{
	free(buffer->data);
	*buffer = (struct buffer){0};
}
