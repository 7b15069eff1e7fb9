/* SPDX-License-Identifier: BSD-2-Clause */
/* spool.c: keeps rows in a temporary file until they can be written in another order. */
#include "rows.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../model/world/arena.h"
#include "../../util/output_file.h"

struct spool {
	int fd; /* -1: not needed yet */
	int error;
	uint64_t size;
};

int spool_create(struct spool **out)
{
	struct spool *spool = calloc(1, sizeof(*spool));

	if (!spool)
		return -ENOMEM;
	spool->fd = -1;
	*out = spool;
	return 0;
}

void spool_free(struct spool *spool)
{
	if (!spool)
		return;
	if (spool->fd >= 0)
		close(spool->fd);
	free(spool);
}

static int write_block(struct spool *spool, const char *data)
{
	if (spool->fd < 0)
		spool->fd = output_file_nameless();
	if (spool->fd < 0)
		return spool->fd;
	for (size_t done = 0; done < SPOOL_BLOCK;) {
		ssize_t n = pwrite(spool->fd, data + done, SPOOL_BLOCK - done,
				   (off_t)(spool->size + done));

		if (n < 0 && errno != EINTR)
			return -errno;
		done += n > 0 ? (size_t)n : 0;
	}
	spool->size += SPOOL_BLOCK;
	return 0;
}

int spool_append(struct spool *spool, struct spool_stream *stream, const void *row, size_t size)
{
	uint64_t place = spool->size;
	int error;

	if (stream->tail_size + size > SPOOL_BLOCK) {
		error = write_block(spool, stream->tail);
		if (error < 0)
			return error;
		if (array_reserve(&stream->blocks, &stream->blocks_capacity, stream->n_blocks,
				  sizeof(*stream->blocks)) < 0)
			return -ENOMEM;
		stream->blocks[stream->n_blocks++] = place;
		stream->tail_size = 0;
	}
	while (stream->tail_size + size > stream->tail_capacity) {
		size_t wanted = stream->tail_capacity ? 2 * stream->tail_capacity : 256;
		char *tail = realloc(stream->tail, wanted);

		if (!tail)
			return -ENOMEM;
		memset(tail + stream->tail_capacity, 0, wanted - stream->tail_capacity);
		stream->tail = tail;
		stream->tail_capacity = wanted;
	}
	memcpy(stream->tail + stream->tail_size, row, size);
	stream->tail_size += size;
	stream->rows++;
	return 0;
}

void spool_stream_free(struct spool_stream *stream)
{
	free(stream->blocks);
	free(stream->tail);
}

void spool_rewind(struct spool_cursor *cursor, const struct spool_stream *stream, size_t row_size)
{
	cursor->stream = stream;
	cursor->row_size = row_size;
	cursor->block = cursor->at = cursor->end = 0;
}

static int read_block(struct spool *spool, uint64_t place, char *data)
{
	for (size_t done = 0; done < SPOOL_BLOCK;) {
		ssize_t n =
			pread(spool->fd, data + done, SPOOL_BLOCK - done, (off_t)(place + done));

		if (n == 0)
			return -EIO;
		if (n < 0 && errno != EINTR)
			return -errno;
		done += n > 0 ? (size_t)n : 0;
	}
	return 0;
}

const void *spool_next(struct spool *spool, struct spool_cursor *cursor)
{
	const struct spool_stream *stream = cursor->stream;
	const void *row;

	if (cursor->at + cursor->row_size > cursor->end) {
		if (spool->error || cursor->block > stream->n_blocks)
			return NULL;
		cursor->at = 0;
		if (cursor->block == stream->n_blocks) {
			cursor->end = stream->tail_size;
			if (stream->tail_size)
				memcpy(cursor->data, stream->tail, stream->tail_size);
		} else {
			cursor->end = SPOOL_BLOCK;
			spool->error =
				read_block(spool, stream->blocks[cursor->block], cursor->data);
		}
		cursor->block++;
		if (spool->error || cursor->row_size > cursor->end)
			return NULL;
	}
	row = cursor->data + cursor->at;
	cursor->at += cursor->row_size;
	return row;
}

int spool_error(const struct spool *spool)
{
	return spool->error;
}
