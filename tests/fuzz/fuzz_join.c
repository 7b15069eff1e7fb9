// SPDX-License-Identifier: BSD-2-Clause
/* fuzz_join.c: profiles from anywhere are merged: whatever the bytes, the result is well-formed. */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "profile/join.h"

enum { INPUTS = 2 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct packed {
	void *data;
	size_t size;
};

static int open_packed(void *context, size_t input, struct source **out)
{
	const struct packed *packed = context;

	(void)input;
	return source_memory_open(packed->data, packed->size, out);
}

static void check(const char *data, size_t size)
{
	struct profile_reader *reader;
	struct profile_status status;
	struct source *source;
	struct record record;

	if (source_memory_open(data, size, &source) || profile_reader_open(source, &reader))
		abort();
	while (profile_reader_next(reader, &record) > 0)
		;
	profile_reader_status(reader, &status);
	if (status.state != PROFILE_COMPLETE && status.state != PROFILE_UNFINISHED)
		abort();
	profile_reader_close(reader);
}

/* Twice the same: of one recording, if it has an id. That is refused, and must do no harm. */
static void join_twice(struct packed *packed)
{
	static const char *const paths[INPUTS] = {"a", "b"};
	size_t input, other, size = 0;
	char *data = NULL;
	struct sink *sink;
	struct join *join;
	int err;

	if (join_create(paths, INPUTS, open_packed, packed, &join))
		return;
	err = join_plan(join, &input, &other);
	if ((!err || err == -EEXIST) && !sink_memory_create(&data, &size, &sink)) {
		if (!join_write(join, sink, &input))
			check(data, size);
		free(data);
	}
	join_free(join);
}

/* As in fuzz_reader.c: what is no file is a plain stream. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const uint8_t magic[] = {0x28, 0xb5, 0x2f, 0xfd};
	struct packed packed = {NULL, ZSTD_compressBound(size)};

	packed.data = malloc(packed.size > size ? packed.size : size);
	if (!packed.data)
		return 0;
	if (size >= sizeof(magic) && !memcmp(data, magic, sizeof(magic))) {
		memcpy(packed.data, data, size);
		packed.size = size;
	} else {
		packed.size = ZSTD_compress(packed.data, packed.size, data, size, 1);
	}
	if (!ZSTD_isError(packed.size))
		join_twice(&packed);
	free(packed.data);
	return 0;
}
