/* SPDX-License-Identifier: BSD-2-Clause */
/* bombs.c: writes profiles that are small and unfold to something large. */
/*
 *	bombs KIND COUNT >FILE
 *
 * As a forger would: records that say nothing new compress to next to nothing, and each makes a
 * reader keep something.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "profile/sink.h"
#include "profile/writer.h"

#define PUT(record_kind, ...)                                           \
	do {                                                            \
		struct record record_ = {.kind = RECORD_##record_kind,  \
					 .record_kind = {__VA_ARGS__}}; \
		if (profile_writer_put(writer, &record_))               \
			exit(EXIT_FAILURE);                             \
	} while (0)

typedef void make_record(struct profile_writer *writer, uint64_t i);

static char filler[4096];

static void put_string(struct profile_writer *writer, uint64_t i)
{
	/* Control characters are four times as long when they are shown. */
	PUT(string, .id = i, .text = {filler, 1000});
}

static void put_frame(struct profile_writer *writer, uint64_t i)
{
	PUT(native_frame, .id = i, .offset = i);
	PUT(stack, .id = i, .frame = i);
	PUT(cpu, .time = 1000 + i, .thread = 1, .stack = i);
}

static void put_symbol(struct profile_writer *writer, uint64_t i)
{
	if (i == 1) {
		PUT(string, .id = 1, .text = {"f", 1});
		PUT(native_frame, .id = 1);
	}
	PUT(symbol, .frame = 1, .name = 1, .line = i);
}

static void put_stack(struct profile_writer *writer, uint64_t i)
{
	if (i == 1)
		PUT(native_frame, .id = 1);
	PUT(stack, .id = i, .frame = 1, .parent = i % 1000 == 1 ? 0 : i - 1);
	PUT(alloc, .time = 1000 + i, .thread = 1, .stack = i, .sample = i, .size = 8,
	    .period = 1000, .kind = 1);
}

static void put_sample(struct profile_writer *writer, uint64_t i)
{
	PUT(alloc, .time = 1000, .thread = 1, .sample = i, .size = 8, .period = 1000, .kind = 1);
}

static void put_type(struct profile_writer *writer, uint64_t i)
{
	PUT(type, .process = 1, .type = i);
	PUT(alloc, .time = 1000, .thread = 1, .type = i, .size = 8, .period = 1000, .kind = 1);
}

static void put_process(struct profile_writer *writer, uint64_t i)
{
	PUT(process, .id = i + 1, .pid = i, .time = 1000);
	PUT(thread, .id = i + 1, .process = i + 1, .tid = i);
}

static void put_total(struct profile_writer *writer, uint64_t i)
{
	PUT(syscall_total, .time = 1000, .process = 1, .number = i, .count = 1);
}

static void put_collection(struct profile_writer *writer, uint64_t i)
{
	PUT(gc_begin, .time = 1000 + 2 * i, .thread = 1, .heap = 1, .cycle = i, .kind = 1);
	PUT(gc_end, .time = 1001 + 2 * i, .thread = 1, .heap = 1, .cycle = i, .kind = 1);
}

static void put_code(struct profile_writer *writer, uint64_t i)
{
	PUT(code, .process = 1, .code = i);
}

static void put_wait(struct profile_writer *writer, uint64_t i)
{
	PUT(wait, .time = 1000, .thread = 1, .duration = 1, .reason = 0, .number = i, .flags = 1);
}

static const struct {
	const char *name;
	make_record *put;
} kinds[] = {
	{"strings", put_string}, {"frames", put_frame},      {"symbols", put_symbol},
	{"stacks", put_stack},   {"samples", put_sample},    {"types", put_type},
	{"totals", put_total},   {"processes", put_process}, {"collections", put_collection},
	{"codes", put_code},     {"waits", put_wait},
};

static make_record *find(const char *name)
{
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		if (strcmp(kinds[i].name, name) == 0)
			return kinds[i].put;
	exit(EXIT_FAILURE);
}

int main(int argc, char **argv)
{
	struct profile_writer *writer = NULL;
	struct sink *sink = NULL;
	make_record *put;

	if (argc != 3 || sink_fd_create(STDOUT_FILENO, &sink) ||
	    profile_writer_create(sink, &writer))
		return EXIT_FAILURE;
	put = find(argv[1]);
	memset(filler, 1, sizeof(filler));
	PUT(recording, .start = 1000, .frequency = 1000, .period = 1000);
	PUT(process, .id = 1, .pid = 100, .time = 1000);
	PUT(thread, .id = 1, .process = 1, .tid = 100);
	for (uint64_t i = 1; i <= strtoull(argv[2], NULL, 10); i++)
		put(writer, i);
	PUT(end, .time = 1000000000, .reason = 1);
	return profile_writer_close(writer) ? EXIT_FAILURE : EXIT_SUCCESS;
}
