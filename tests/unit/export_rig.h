/* SPDX-License-Identifier: BSD-2-Clause */
/* export_rig.h: exports synthetic profiles into memory, for tests of the exporters. */
#ifndef GCPROF_EXPORT_RIG_H
#define GCPROF_EXPORT_RIG_H

#include <errno.h>
#include <jansson.h>
#include <unistd.h>
#include <zlib.h>

#include "export/export.h"
#include "json_at.h"
#include "synthetic_app.h"
#include "util/buffer.h"

struct exported {
	char *data; /* unpacked, ended by a zero */
	size_t size;
	struct export_result result;
};

static inline void unpack(struct exported *exported)
{
	struct buffer out = {0};
	z_stream stream = {.next_in = (unsigned char *)exported->data,
			   .avail_in = (unsigned)exported->size};
	int status;

	CHECK_EQ(inflateInit2(&stream, 15 + 16), Z_OK);
	do {
		CHECK_EQ(buffer_reserve(&out, 1 << 20), 0);
		stream.next_out = (unsigned char *)out.data + out.size;
		stream.avail_out = (unsigned)(out.capacity - out.size);
		status = inflate(&stream, Z_NO_FLUSH);
		CHECK(status == Z_OK || status == Z_STREAM_END);
		out.size = stream.total_out;
	} while (status != Z_STREAM_END);
	free(exported->data);
	CHECK_EQ(buffer_append(&out, "", 1), 0);
	exported->data = out.data;
	exported->size = out.size - 1;
	inflateEnd(&stream);
}

/* The error of the export; the result in *exported, which is the caller's. */
static inline int try_export(const struct synthetic *synthetic, const char *format,
			     const struct export_options *options, struct exported *exported)
{
	struct export_request request = {
		.exporter = exporter_find(format), .options = *options, .file = "test.data"};
	struct source *source;
	struct sink *sink;
	int error;

	*exported = (struct exported){0};
	CHECK(request.exporter);
	CHECK_EQ(source_memory_open(synthetic->data, synthetic->size, &source), 0);
	CHECK_EQ(sink_memory_create(&exported->data, &exported->size, &sink), 0);
	error = export_run(&request, (struct source *[2]){source}, sink, &exported->result);
	if (!error && request.exporter->packed) {
		unpack(exported);
	} else if (!error) {
		struct buffer out = {exported->data, exported->size, exported->size};

		CHECK_EQ(buffer_append(&out, "", 1), 0);
		exported->data = out.data;
	}
	return error;
}

static inline struct exported export_as(const struct synthetic *synthetic, const char *format,
					const char *measure)
{
	struct export_options options = {.measure = measure};
	struct exported exported;

	CHECK_EQ(try_export(synthetic, format, &options, &exported), 0);
	return exported;
}

/* Ends the test if the checker of Firefox exports finds a fault. Tests run in the source tree. */
static inline void check_firefox(const struct exported *exported)
{
	char path[] = "/tmp/gcprof-test-XXXXXX", command[128], line[512];
	int fd = mkstemp(path), lines = 0;
	FILE *out;

	CHECK(fd >= 0);
	CHECK_EQ(write(fd, exported->data, exported->size), exported->size);
	close(fd);
	snprintf(command, sizeof(command), "jq -r -f tests/e2e/firefox.jq %s 2>&1", path);
	out = popen(command, "r");
	while (out && fgets(line, sizeof(line), out)) {
		printf("%s", line);
		lines++;
	}
	CHECK_EQ(out ? pclose(out) : -1, 0);
	unlink(path);
	CHECK_EQ(lines, 0);
}

static inline json_t *parse_json(const struct exported *exported)
{
	json_error_t error;
	json_t *object = json_loadb(exported->data, exported->size, 0, &error);

	if (!object)
		test_fail(__FILE__, __LINE__, "%s in line %d", error.text, error.line);
	return object;
}

/* Exports for the Firefox Profiler, and checks that. */
static inline json_t *export_firefox(const struct synthetic *synthetic)
{
	struct exported exported = export_as(synthetic, "firefox", NULL);
	json_t *object;

	check_firefox(&exported);
	object = parse_json(&exported);
	free(exported.data);
	return object;
}

static inline double json_sum(json_t *array)
{
	double sum = 0;
	json_t *item;
	size_t i;

	json_array_foreach(array, i, item) sum += json_number_value(item);
	return sum;
}

/* Texts that must not harm any format. */
static inline struct bytes hostile_text(int number)
{
	static char long_text[(64 << 10) + 1];
	static const char zeros[] = "zero\0inside";

	memset(long_text, 'x', sizeof(long_text) - 1);
	switch (number) {
	case 0:
		return bytes_of("\"quotes\" and \\back\\slashes\\");
	case 1:
		return bytes_of("control \001\n\r\t\033[31m\177 bytes");
	case 2:
		return bytes_of("no UTF-8: \xff\xc0\xaf \xed\xa0\x80 \xf4\x90\x80\x80 \xe2\x82");
	case 3:
		return (struct bytes){long_text, sizeof(long_text) - 1};
	case 4:
		return (struct bytes){zeros, sizeof(zeros) - 1};
	case 5:
		return bytes_of("; semicolon; </script> ${x} \xe2\x80\xae turned");
	default:
		return bytes_of("\xf0\x9f\xa6\x8a caf\xc3\xa9");
	}
}

enum { HOSTILE_TEXTS = 7 };

/* Every name of the profile is one of them. */
static inline void hostile_profile(struct synthetic *synthetic)
{
	static const unsigned char build_id[20] = {0xfe, 0x00, 0x22, 0x5c, 0x0a};

	synthetic_begin(synthetic);
	for (int i = 0; i < HOSTILE_TEXTS; i++) {
		PUT(synthetic, argument, .text = hostile_text(i));
		PUT(synthetic, meta, .key = bytes_of("host"), .value = hostile_text(i));
	}
	synthetic_process(synthetic, 1000);
	PUT(synthetic, loss_kind, .kind = 3, .stream = 1, .severity = 1, .name = hostile_text(0),
	    .text = hostile_text(1));
	for (uint64_t i = 0; i < HOSTILE_TEXTS; i++) {
		struct bytes text = hostile_text((int)i);
		uint64_t name = profile_writer_string(synthetic->writer, text.data, text.size);
		uint64_t module = profile_writer_module(synthetic->writer, text.data, build_id,
							sizeof(build_id), NULL);
		uint64_t native = profile_writer_native(synthetic->writer, module, i);
		uint64_t managed = profile_writer_managed(synthetic->writer, 1, i + 1, 7);
		uint64_t stack = synthetic_stack(synthetic, (uint64_t[]){native, managed, 0});

		PUT(synthetic, symbol, .frame = native, .name = name, .file = name, .line = 3);
		PUT(synthetic, code, .process = 1, .code = i + 1, .name = name, .file = name,
		    .line = i);
		PUT(synthetic, type, .process = 1, .type = i + 1, .name = name);
		PUT(synthetic, thread, .id = i + 2, .process = 1, .tid = 200 + i);
		PUT(synthetic, comm, .time = 2000 + i, .thread = i + 2, .name = name);
		PUT(synthetic, cpu, .time = 3000 + i, .thread = i + 2, .stack = stack, .mode = 1);
		PUT(synthetic, alloc, .time = 4000 + i, .thread = i + 2, .stack = stack,
		    .sample = i + 1, .type = i + 1, .size = 64, .period = 1000, .kind = 1);
		PUT(synthetic, runtime, .process = 1, .name = name, .version = name, .note = name);
		PUT(synthetic, gc_name, .process = 1, .number = 16 + i, .name = name);
		PUT(synthetic, gc_begin, .time = 5000 + 10 * i, .thread = 1, .kind = 5,
		    .name = 16 + i, .reason = 16 + i);
		PUT(synthetic, gc_end, .time = 5005 + 10 * i, .thread = i + 2, .kind = 5);
		PUT(synthetic, gc_cycle, .time = 5006 + 10 * i, .process = 1, .span = 3,
		    .name = 16 + i, .reason = 16 + i);
	}
	PUT(synthetic, loss, .time = 9000, .kind = 3, .count = 17);
	synthetic_end(synthetic, 10000);
}

#endif
