// SPDX-License-Identifier: BSD-2-Clause
/* fuzz_vmprof.c: VMProf profiles and PyPy logs from anywhere: imported, or refused. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "commands/import/vmprof.h"
#include "model/load.h"
#include "profile/sink.h"
#include "profile/source.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Whatever is written must be a profile that can be read. */
static void convert(const void *data, size_t size, const struct pypylog *log)
{
	struct vmprof_import import = {.name = "fuzz", .log = log};
	struct vmprof_result result;
	struct model *model = NULL;
	struct source *source;
	struct sink *sink;
	char *out = NULL;
	size_t out_size = 0;

	if (sink_memory_create(&out, &out_size, &sink))
		return;
	if (vmprof_convert(data, size, &import, sink, &result) == 0 &&
	    source_memory_open(out, out_size, &source) == 0) {
		if (model_load(source, "fuzz", &model) != 0 || model->state == PROFILE_DAMAGED)
			abort();
		model_free(model);
	}
	free(out);
}

/* The bytes are a profile; what follows the first line that begins with [ is a log as well. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct pypylog_clock clock = {.tsc = 1000, .monotonic = 1000, .ns_per_tick = 0.5};
	const char *at = memchr(data, '[', size);
	struct pypylog log = {0};

	convert(data, size, NULL);
	if (at && pypylog_read(&log, at, size - (size_t)(at - (const char *)data), &clock) == 0)
		convert(data, size, &log);
	pypylog_free(&log);
	return 0;
}
