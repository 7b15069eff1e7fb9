/* SPDX-License-Identifier: BSD-2-Clause */
/* output.c: writes an export, optionally compressed, and formats JSON. */
#include "output.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "../model/world/text.h"
#include "../profile/sink.h"

enum {
	PLAIN_SIZE = 64 << 10,
	PACKED_SIZE = 64 << 10,
	GZIP_BITS = 15 + 16, /* the largest window, and a gzip header */
	PACK_LEVEL = 2,      /* for columns of numbers, higher levels are slow and gain little */
	MEMORY_LEVEL = 8,
	UNIX = 3, /* of the gzip header */
};

/* Names repeated in thousands of stacks could fill any disk; such a file is useless. */
#define SIZE_MAX_BYTES (UINT64_C(8) << 30)

struct output {
	struct sink *sink;
	int error;
	bool packed;
	z_stream stream;
	gz_header header;
	uint64_t size; /* total size of the data that has left `plain` */
	size_t used;
	char plain[PLAIN_SIZE];
	unsigned char pack[PACKED_SIZE];
};

int output_create(struct sink *sink, bool packed, struct output **out)
{
	struct output *output = calloc(1, sizeof(*output));

	if (!output || (packed && deflateInit2(&output->stream, PACK_LEVEL, Z_DEFLATED, GZIP_BITS,
					       MEMORY_LEVEL, Z_DEFAULT_STRATEGY) != Z_OK)) {
		free(output);
		sink->close(sink);
		return -ENOMEM;
	}
	output->sink = sink;
	output->packed = packed;
	output->header = (gz_header){.os = UNIX, .comment = (Bytef *)OUTPUT_PACKED_COMMENT};
	if (packed)
		deflateSetHeader(&output->stream, &output->header);
	*out = output;
	return 0;
}

static void pack(struct output *output, int flush)
{
	z_stream *stream = &output->stream;

	stream->next_in = (unsigned char *)output->plain;
	stream->avail_in = (unsigned)output->used;
	do {
		stream->next_out = output->pack;
		stream->avail_out = PACKED_SIZE;
		if (deflate(stream, flush) == Z_STREAM_ERROR)
			output_fail(output, -EIO);
		if (!output->error && stream->avail_out < PACKED_SIZE)
			output_fail(output, output->sink->write(output->sink, output->pack,
								PACKED_SIZE - stream->avail_out));
	} while (!output->error && !stream->avail_out);
}

static void empty(struct output *output, int flush)
{
	output->size += output->used;
	if (output->size > SIZE_MAX_BYTES)
		output_fail(output, -EFBIG);
	if (!output->error && output->packed)
		pack(output, flush);
	else if (!output->error && output->used)
		output_fail(output, output->sink->write(output->sink, output->plain, output->used));
	output->used = 0;
}

void output_bytes(struct output *output, const void *data, size_t size)
{
	const char *at = data;

	while (size && !output->error) {
		size_t n = PLAIN_SIZE - output->used;

		if (n > size)
			n = size;
		memcpy(output->plain + output->used, at, n);
		output->used += n;
		at += n;
		size -= n;
		if (output->used == PLAIN_SIZE)
			empty(output, Z_NO_FLUSH);
	}
}

void output_text(struct output *output, const char *text)
{
	output_bytes(output, text, strlen(text));
}

void output_format(struct output *output, const char *format, ...)
{
	char text[512];
	va_list arguments;
	int size;

	va_start(arguments, format);
	size = vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	if (size < 0 || (size_t)size >= sizeof(text))
		output_fail(output, -EOVERFLOW);
	else
		output_bytes(output, text, (size_t)size);
}

/* Writes the digits of `number` before `end`; returns their start. */
static char *put_digits(char *end, uint64_t number)
{
	do {
		*--end = (char)('0' + number % 10);
		number /= 10;
	} while (number);
	return end;
}

void output_number(struct output *output, uint64_t number)
{
	char text[24], *end = text + sizeof(text), *at = put_digits(end, number);

	output_bytes(output, at, (size_t)(end - at));
}

void output_rounded(struct output *output, double number)
{
	/* Larger numbers are not exact anyway. */
	if (number >= 0 && number < 0x1p53)
		output_number(output, (uint64_t)(number + 0.5));
	else
		output_format(output, "%.0f", number);
}

void output_integer(struct output *output, int64_t number)
{
	if (number < 0)
		output_bytes(output, "-", 1);
	output_number(output, number < 0 ? 0 - (uint64_t)number : (uint64_t)number);
}

void output_milliseconds(struct output *output, uint64_t ns)
{
	char text[32], *end = text + sizeof(text), *at = end;
	uint64_t fraction = ns % 1000000;

	if (fraction) {
		for (int i = 0; i < 6; i++, fraction /= 10)
			*--at = (char)('0' + fraction % 10);
		*--at = '.';
		while (end[-1] == '0')
			end--;
	}
	at = put_digits(at, ns / 1000000);
	output_bytes(output, at, (size_t)(end - at));
}

void output_string(struct output *output, const char *text)
{
	size_t size = text ? strlen(text) : 0;

	if (!text) {
		output_text(output, "null");
		return;
	}
	output_bytes(output, "\"", 1);
	for (size_t at = 0; at < size;) {
		char shown[ESCAPE_MAX];

		at += escape_json(text + at, size - at, shown);
		output_text(output, shown);
	}
	output_bytes(output, "\"", 1);
}

void output_fail(struct output *output, int error)
{
	if (!output->error)
		output->error = error;
}

uint64_t output_size(const struct output *output)
{
	return output->size + output->used;
}

int output_close(struct output *output)
{
	int error, closed;

	if (!output)
		return 0;
	empty(output, Z_FINISH);
	if (output->packed)
		deflateEnd(&output->stream);
	error = output->error;
	closed = output->sink->close(output->sink);
	free(output);
	return error ? error : closed;
}
