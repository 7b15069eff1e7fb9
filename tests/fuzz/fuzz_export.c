// SPDX-License-Identifier: BSD-2-Clause
/* fuzz_export.c: profiles from anywhere: whatever the records, every exporter writes or refuses. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <zstd.h>

#include "export/export.h"
#include "profile/sink.h"
#include "profile/source.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* This machine has no name, so it recorded none of the profiles: no process is started to read the
 * files that they name. */
int uname(struct utsname *out)
{
	(void)out;
	return -1;
}

static void export_all(const void *data, size_t size)
{
	for (size_t i = 0; exporters[i]; i++) {
		struct export_request request = {
			.exporter = exporters[i], .options = {.limit = 1 << 20}, .file = "fuzz"};
		struct export_result result;
		struct source *source;
		struct sink *sink;
		char *out = NULL;
		size_t out_size;

		if (source_memory_open(data, size, &source))
			return;
		if (sink_memory_create(&out, &out_size, &sink))
			source->close(source);
		else
			export_run(&request, (struct source *[2]){source}, sink, &result);
		free(out);
	}
}

/* As in fuzz_reader.c: bytes that are no zstd frame are a plain stream, packed here. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const uint8_t magic[] = {0x28, 0xb5, 0x2f, 0xfd};
	size_t bound = ZSTD_compressBound(size), packed_size;
	void *packed;

	if (size >= sizeof(magic) && !memcmp(data, magic, sizeof(magic))) {
		export_all(data, size);
		return 0;
	}
	packed = malloc(bound);
	packed_size = packed ? ZSTD_compress(packed, bound, data, size, 1) : 0;
	if (packed && !ZSTD_isError(packed_size))
		export_all(packed, packed_size);
	free(packed);
	return 0;
}
