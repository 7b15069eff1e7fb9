/* SPDX-License-Identifier: BSD-2-Clause */
/* output.h: writes an export, optionally compressed, and formats JSON. */
/*
 * Not thread-safe. After the first error nothing more is written, and output_close()
 * returns it, so callers need not check every call.
 */
#ifndef GCPROF_OUTPUT_H
#define GCPROF_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct output;
struct sink;

/* The mark of packed outputs: a comment behind the gzip header. */
#define OUTPUT_PACKED_COMMENT "gcprof export"
#define OUTPUT_PACKED_MARK                \
	{                                 \
		10, OUTPUT_PACKED_COMMENT \
	}

/* Takes over the sink, also on failure. */
int output_create(struct sink *sink, bool packed, struct output **out);

void output_bytes(struct output *output, const void *data, size_t size);
void output_text(struct output *output, const char *text);
void output_format(struct output *output, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
void output_number(struct output *output, uint64_t number);
void output_integer(struct output *output, int64_t number);
/* Without its fraction. */
void output_rounded(struct output *output, double number);

/* A JSON number: nanoseconds as milliseconds, exactly. */
void output_milliseconds(struct output *output, uint64_t ns);

/* A JSON string with quotes; bytes that are not UTF-8 become U+FFFD. NULL: null. */
void output_string(struct output *output, const char *text);

/* Records an error of the code that produces the data. */
void output_fail(struct output *output, int error);

/* Bytes before compression. */
uint64_t output_size(const struct output *output);

/*
 * Writes the remaining data, closes the sink and frees. NULL is allowed. Returns the first
 * error.
 */
int output_close(struct output *output);

#endif
