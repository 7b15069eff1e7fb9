// SPDX-License-Identifier: BSD-2-Clause
/* fuzz_reader.c: profiles from anywhere: whatever the bytes, the reader returns or stops. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "profile/reader.h"
#include "profile/record_json.h"
#include "profile/summary.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Prints what is read, so that every byte of it is looked at. */
static void read_all(const void *data, size_t size)
{
	struct profile_reader *reader;
	struct source *source;
	struct record record;
	static FILE *null;

	if (!null)
		null = fopen("/dev/null", "w");
	if (source_memory_open(data, size, &source) || profile_reader_open(source, &reader))
		return;
	while (profile_reader_next(reader, &record) > 0)
		record_json(null, &record);
	profile_reader_close(reader);
}

static void summarize(const void *data, size_t size)
{
	struct profile_reader *reader;
	struct summary_clock clock;
	struct summary summary;
	struct source *source;

	if (source_memory_open(data, size, &source) || profile_reader_open(source, &reader))
		return;
	if (!summary_read(reader, &summary))
		summary_clock(&summary, &clock);
	summary_free(&summary);
	profile_reader_close(reader);
}

/* Bytes that begin like a zstd frame are a file. Others are a plain stream, packed here: checksums
 * would keep a fuzzer away from the records. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const uint8_t magic[] = {0x28, 0xb5, 0x2f, 0xfd};
	size_t bound = ZSTD_compressBound(size), packed_size;
	void *packed;

	if (size >= sizeof(magic) && !memcmp(data, magic, sizeof(magic))) {
		read_all(data, size);
		summarize(data, size);
		return 0;
	}
	packed = malloc(bound);
	packed_size = packed ? ZSTD_compress(packed, bound, data, size, 1) : 0;
	if (packed && !ZSTD_isError(packed_size)) {
		read_all(packed, packed_size);
		summarize(packed, packed_size);
	}
	free(packed);
	return 0;
}
