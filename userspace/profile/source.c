// SPDX-License-Identifier: BSD-2-Clause
/* source.c: reads a profile from a file or from memory. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "source.h"

struct source_file {
	struct source source;
	int fd;
};

struct source_memory {
	struct source source;
	const char *data;
	size_t left;
};

static ssize_t file_read(struct source *source, void *data, size_t size)
{
	struct source_file *file = (struct source_file *)source;
	ssize_t n;

	do
		n = read(file->fd, data, size);
	while (n < 0 && errno == EINTR);
	return n < 0 ? -errno : n;
}

static void file_close(struct source *source)
{
	struct source_file *file = (struct source_file *)source;

	close(file->fd);
	free(file);
}

int source_file_open(const char *path, struct source **out)
{
	int fd = strcmp(path, "-") ? open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY)
				   : fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3);

	return fd < 0 ? -errno : source_fd_open(fd, out);
}

int source_fd_open(int fd, struct source **out)
{
	struct source_file *file = NULL;
	struct stat st;
	int err = 0;

	if (fstat(fd, &st))
		err = -errno;
	else if (S_ISDIR(st.st_mode))
		err = -EISDIR;
	else if (!(file = malloc(sizeof(*file))))
		err = -ENOMEM;
	if (err) {
		close(fd);
		return err;
	}
	*file = (struct source_file){{file_read, file_close}, fd};
	*out = &file->source;
	return 0;
}

static ssize_t memory_read(struct source *source, void *data, size_t size)
{
	struct source_memory *memory = (struct source_memory *)source;
	size_t n = size < memory->left ? size : memory->left;

	if (n)
		memcpy(data, memory->data, n);
	memory->data += n;
	memory->left -= n;
	return (ssize_t)n;
}

static void memory_close(struct source *source)
{
	free(source);
}

int source_memory_open(const void *data, size_t size, struct source **out)
{
	struct source_memory *memory = malloc(sizeof(*memory));

	if (!memory)
		return -ENOMEM;
	*memory = (struct source_memory){{memory_read, memory_close}, data, size};
	*out = &memory->source;
	return 0;
}
