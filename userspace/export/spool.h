/* SPDX-License-Identifier: BSD-2-Clause */
/* spool.h: keeps rows in a temporary file until they can be written in another order. */
#ifndef GCPROF_SPOOL_H
#define GCPROF_SPOOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Many streams share one unlinked file. A stream keeps at most one block in memory. Not
 * thread-safe.
 */
struct spool;

int spool_create(struct spool **out);
void spool_free(struct spool *spool); /* NULL is allowed */

enum { SPOOL_BLOCK = 16 << 10 };

/* Rows of one size in order of arrival. All zero is an empty stream. */
struct spool_stream {
	uint64_t rows;
	uint64_t *blocks; /* their positions in the file */
	size_t n_blocks, blocks_capacity;
	char *tail; /* rows of the incomplete last block */
	size_t tail_size, tail_capacity;
};

/* Appends a row; all rows of a stream have the same size. 0 or a negative errno. */
int spool_append(struct spool *spool, struct spool_stream *stream, const void *row, size_t size);
void spool_stream_free(struct spool_stream *stream);

struct spool_cursor {
	const struct spool_stream *stream;
	size_t row_size;
	size_t block; /* the next block to read */
	size_t at, end;
	char data[SPOOL_BLOCK];
};

void spool_rewind(struct spool_cursor *cursor, const struct spool_stream *stream, size_t row_size);

/* The next row; NULL at the end or if the file cannot be read, which spool_error() reports. */
const void *spool_next(struct spool *spool, struct spool_cursor *cursor);
int spool_error(const struct spool *spool);

#endif
