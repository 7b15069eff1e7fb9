// SPDX-License-Identifier: BSD-2-Clause
/* sink.c: writes a profile to a file, a descriptor or memory. */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

#include "sink.h"
#include "../util/buffer.h"

struct sink_file {
	struct sink sink;
	int fd;
	bool owned; /* close it */
};

static int file_write(struct sink *sink, const void *data, size_t size)
{
	struct sink_file *file = (struct sink_file *)sink;
	const char *at = data;

	while (size) {
		ssize_t n = write(file->fd, at, size);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		at += n;
		size -= (size_t)n;
	}
	return 0;
}

static int file_close(struct sink *sink)
{
	struct sink_file *file = (struct sink_file *)sink;
	int err = 0;

	/* EINTR: the descriptor is closed nevertheless; retrying is wrong. */
	if (file->owned && close(file->fd) && errno != EINTR)
		err = -errno;
	free(file);
	return err;
}

static int make(int fd, bool owned, struct sink **out)
{
	struct sink_file *file = malloc(sizeof(*file));

	if (!file)
		return -ENOMEM;
	*file = (struct sink_file){{file_write, file_close}, fd, owned};
	*out = &file->sink;
	return 0;
}

int sink_fd_create(int fd, struct sink **out)
{
	return make(fd, false, out);
}

int sink_file_adopt(int fd, struct sink **out)
{
	int err = make(fd, true, out);

	if (err)
		close(fd);
	return err;
}

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
