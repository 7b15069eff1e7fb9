// SPDX-License-Identifier: BSD-2-Clause
/* sink_memory.c: writes a profile to memory. */
#include <errno.h>
#include <stdlib.h>

#include "sink.h"
#include "../util/buffer.h"

struct sink_memory {
	struct sink sink;
	struct buffer buffer;
	char **data; /* where the result goes */
	size_t *size;
};

static int memory_write(struct sink *sink, const void *data, size_t size)
{
	return buffer_append(&((struct sink_memory *)sink)->buffer, data, size);
}

static int memory_close(struct sink *sink)
{
	struct sink_memory *memory = (struct sink_memory *)sink;

	*memory->data = memory->buffer.data;
	*memory->size = memory->buffer.size;
	free(memory);
	return 0;
}

int sink_memory_create(char **data, size_t *size, struct sink **out)
{
	struct sink_memory *memory = calloc(1, sizeof(*memory));

	if (!memory)
		return -ENOMEM;
	memory->sink = (struct sink){memory_write, memory_close};
	memory->data = data;
	memory->size = size;
	*data = NULL;
	*size = 0;
	*out = &memory->sink;
	return 0;
}
