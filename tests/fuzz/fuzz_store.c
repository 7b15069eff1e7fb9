// SPDX-License-Identifier: BSD-2-Clause
/* fuzz_store.c: ring events from anywhere: what the store is told, it survives. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "profile/writer.h"
#include "record/ingest/flow_parts.h"
#include "record/world/files.h"
#include "record/store/store.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int discard_write(struct sink *sink, const void *data, size_t size)
{
	(void)sink;
	(void)data;
	(void)size;
	return 0;
}

static int discard_close(struct sink *sink)
{
	(void)sink;
	return 0;
}

static void store_until(struct merge *merge, struct store *store, uint64_t watermark)
{
	const struct event_header *event;

	merge_advance(merge, watermark);
	while ((event = merge_next(merge))) {
		/* Mapped files would be opened: paths of a fuzzer must lead nowhere. */
		if (event->code == EVENT_mmap && event->size >= sizeof(struct event_mmap))
			((struct event_mmap *)(uintptr_t)event)->inode = 0;
		store_event(store, event);
	}
}

/* The input is a row of events; the size that each one states is cut to what there is. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct sink sink = {discard_write, discard_close};
	struct profile_writer *writer;
	struct merge *merge;
	struct opener *opener;
	struct files *files;
	struct processes *processes;
	struct store *store;

	if (profile_writer_create(&sink, &writer) || opener_create(true, &opener) ||
	    files_create(opener, &files) || processes_create(writer, &processes) ||
	    store_create(writer, files, processes, &store) || merge_create(&merge))
		abort();
	store_add_process(store, 1, 100, 100, 1);
	while (size >= sizeof(struct event_header)) {
		struct event_header header;
		uint64_t *copy;

		memcpy(&header, data, sizeof(header));
		if (header.size < sizeof(header) || header.size > size)
			header.size = (uint32_t)size;
		copy = malloc((header.size + 7) & ~(size_t)7);
		memcpy(copy, data, header.size);
		memcpy(copy, &header, sizeof(header));
		merge_add(merge, (void *)copy, header.size);
		free(copy);
		data += header.size;
		size -= header.size;
		store_until(merge, store, header.time / 2);
	}
	store_until(merge, store, UINT64_MAX);
	merge_free(merge);
	store_free(store);
	processes_free(processes);
	files_free(files);
	opener_free(opener);
	profile_writer_close(writer);
	return 0;
}
