// SPDX-License-Identifier: BSD-2-Clause
/* profile_records.c: tests of the encoding of records: every kind, every field, other versions. */
#include <errno.h>

#include "profile_make.h"
#include "profile/codec.h"

static char text[EXTREME_TEXT];

static void fill_text(uint64_t *random)
{
	for (size_t i = 0; i < sizeof(text); i++)
		text[i] = (char)test_random(random);
}

TEST(varint_round_trip)
{
	uint64_t random = test_seed();
	uint8_t room[VARINT_MAX];

	for (uint64_t i = 0; i < 10000; i++) {
		uint64_t value = extreme_number(&random, i), back;
		uint8_t *end = varint_put(room, value);
		struct cursor cursor = cursor_make(room, (size_t)(end - room));
		struct cursor cut = cursor_make(room, (size_t)(end - room) - 1);

		CHECK(cursor_varint(&cursor, &back));
		CHECK(back == value);
		CHECK_EQ(cursor_left(&cursor), 0);
		CHECK(!cursor_varint(&cut, &back));
		CHECK(zigzag_unfold(zigzag_fold(value)) == value);
	}
}

TEST(varint_of_more_than_64_bits_is_refused)
{
	const uint8_t largest[] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1};
	const uint8_t too_large[] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2};
	const uint8_t too_long[] = {0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0};
	struct cursor cursor = cursor_make(largest, sizeof(largest));
	uint64_t value;

	CHECK(cursor_varint(&cursor, &value) && value == UINT64_MAX);
	cursor = cursor_make(too_large, sizeof(too_large));
	CHECK(!cursor_varint(&cursor, &value));
	cursor = cursor_make(too_long, sizeof(too_long));
	CHECK(!cursor_varint(&cursor, &value));
}

TEST(every_record_round_trips)
{
	uint64_t seed = test_seed(), random = seed, again = seed;
	struct profile_reader *reader;
	struct profile_writer *writer;
	struct profile_bytes bytes;
	struct record record, back;
	struct source *source;
	struct sink *sink;

	fill_text(&random);
	again = random;
	CHECK_EQ(sink_memory_create(&bytes.data, &bytes.size, &sink), 0);
	CHECK_EQ(profile_writer_create(sink, &writer), 0);
	for (int round = 0; round < 200; round++) {
		for (unsigned kind = RECORD_meta; kind < RECORD_CODES; kind++) {
			if (!record_info(kind))
				continue;
			extreme_record(&record, kind, &random, text);
			CHECK_EQ(profile_writer_put(writer, &record), 0);
			if (test_random(&random) % 64 == 0)
				CHECK_EQ(profile_writer_flush(writer), 0);
		}
	}
	CHECK_EQ(profile_writer_close(writer), 0);

	CHECK_EQ(source_memory_open(bytes.data, bytes.size, &source), 0);
	CHECK_EQ(profile_reader_open(source, &reader), 0);
	CHECK_EQ(profile_reader_next(reader, &back), 1);
	CHECK_EQ(back.kind, RECORD_header);
	for (int round = 0; round < 200; round++) {
		for (unsigned kind = RECORD_meta; kind < RECORD_CODES; kind++) {
			if (!record_info(kind))
				continue;
			extreme_record(&record, kind, &again, text);
			test_random(&again);
			/* These are for readers of later segments. */
			if (kind == RECORD_again)
				continue;
			do
				CHECK_EQ(profile_reader_next(reader, &back), 1);
			while (back.kind == RECORD_chunk);
			if (!same_record(&record, &back))
				test_fail(__FILE__, __LINE__, "record %s came back changed",
					  record_info(kind)->name);
		}
	}
	CHECK_EQ(profile_reader_next(reader, &back), 0);
	profile_reader_close(reader);
	free(bytes.data);
}

/* Decodes one payload as a record of this kind. */
static int decode(unsigned kind, const void *payload, size_t size, struct record *record)
{
	static struct codec codec;

	codec_reset(&codec, 0);
	return codec_decode(&codec, kind, cursor_make(payload, size), record);
}

TEST(missing_fields_are_zero)
{
	struct record record;

	memset(&record, 0xaa, sizeof(record));
	CHECK_EQ(decode(RECORD_cpu, "\x14\x05", 2, &record), 0);
	CHECK_EQ(record.cpu.time, 10);
	CHECK_EQ(record.cpu.thread, 5);
	CHECK_EQ(record.cpu.stack, 0);
	CHECK_EQ(record.cpu.quality, 0);
	memset(&record, 0xaa, sizeof(record));
	CHECK_EQ(decode(RECORD_meta, "", 0, &record), 0);
	CHECK_EQ(record.meta.key.size, 0);
	CHECK_EQ(record.meta.value.size, 0);
}

TEST(fields_of_newer_versions_are_ignored)
{
	struct record record;

	CHECK_EQ(decode(RECORD_argument, "\2hi\7\7\7", 6, &record), 0);
	CHECK_EQ(record.argument.text.size, 2);
	CHECK(!memcmp(record.argument.text.data, "hi", 2));
}

TEST(malformed_fields_are_refused)
{
	struct record record;

	CHECK_EQ(decode(RECORD_argument, "\3hi", 3, &record), -EBADMSG);
	CHECK_EQ(decode(RECORD_argument, "\xff\xff\xff\xff\xff\xff\xff\xff\xff\1x", 11, &record),
		 -EBADMSG);
	CHECK_EQ(decode(RECORD_thread, "\x80", 1, &record), -EBADMSG);
	CHECK_EQ(decode(RECORD_thread, "\1\2\x80\x80", 4, &record), -EBADMSG);
	CHECK_EQ(decode(15, "", 0, &record), -EINVAL);
	CHECK_EQ(decode(1000, "", 0, &record), -EINVAL);
}

TEST(deltas_begin_anew_in_each_chunk)
{
	struct profile_bytes one = make_small(1, false), three = make_small(3, false);
	struct read_result result = read_bytes(three.data, three.size);

	CHECK_EQ(result.status.chunks, 3);
	CHECK_EQ(result.allocs, 12);
	CHECK_EQ(read_bytes(one.data, one.size).allocs, 4);
	free(one.data);
	free(three.data);
}

TEST(writer_refuses_what_it_cannot_write)
{
	struct record record = {.kind = RECORD_header};
	struct profile_writer *writer;
	struct profile_bytes bytes;
	struct sink *sink;

	CHECK_EQ(sink_memory_create(&bytes.data, &bytes.size, &sink), 0);
	CHECK_EQ(profile_writer_create(sink, &writer), 0);
	CHECK_EQ(profile_writer_put(writer, &record), -EINVAL);
	record.kind = RECORD_chunk;
	CHECK_EQ(profile_writer_put(writer, &record), -EINVAL);
	record.kind = 15;
	CHECK_EQ(profile_writer_put(writer, &record), -EINVAL);
	record = (struct record){.kind = RECORD_argument};
	record.argument.text.data = "";
	record.argument.text.size = CODEC_BYTES_MAX + 1;
	CHECK_EQ(profile_writer_put(writer, &record), -EMSGSIZE);
	/* None of this is the end of it. */
	record.argument.text = (struct bytes){"word", 4};
	CHECK_EQ(profile_writer_put(writer, &record), 0);
	CHECK_EQ(profile_writer_close(writer), 0);
	CHECK_EQ(read_bytes(bytes.data, bytes.size).records, 3);
	free(bytes.data);
}

TEST(writer_defines_once)
{
	struct profile_writer *writer;
	struct profile_bytes bytes;
	struct read_result result;
	struct sink *sink;
	uint64_t module, native, kernel, managed, stack;

	CHECK_EQ(sink_memory_create(&bytes.data, &bytes.size, &sink), 0);
	CHECK_EQ(profile_writer_create(sink, &writer), 0);
	for (int i = 0; i < 2; i++) {
		CHECK_EQ(profile_writer_string(writer, "a", 1), 1);
		CHECK_EQ(profile_writer_string(writer, "", 0), 2);
		CHECK_EQ(profile_writer_string(writer, "a\0b", 3), 3);
	}
	module = profile_writer_module(writer, "a", "id", 2, NULL);
	CHECK_EQ(profile_writer_module(writer, "a", "id", 2, NULL), module);
	CHECK(profile_writer_module(writer, "a", "ie", 2, NULL) != module);
	CHECK(profile_writer_module(writer, "a", NULL, 0, NULL) != module);
	native = profile_writer_native(writer, module, 5);
	kernel = profile_writer_kernel(writer, 5);
	managed = profile_writer_managed(writer, 1, 2, 3);
	CHECK(native != kernel && kernel != managed && native != managed);
	CHECK_EQ(profile_writer_native(writer, module, 5), native);
	CHECK_EQ(profile_writer_kernel(writer, 5), kernel);
	CHECK_EQ(profile_writer_managed(writer, 1, 2, 3), managed);
	stack = profile_writer_stack(writer, 0, native);
	CHECK_EQ(profile_writer_stack(writer, 0, native), stack);
	CHECK(profile_writer_stack(writer, stack, native) != stack);
	CHECK_EQ(profile_writer_close(writer), 0);
	result = read_bytes(bytes.data, bytes.size);
	/* header, chunk, 3 strings, 3 modules, 3 frames, 2 stacks */
	CHECK_EQ(result.records, 13);
	free(bytes.data);
}

/* Every sample had all of its stack with it: 905 bytes. */
TEST(b22_samples_of_known_stacks_take_few_bytes)
{
	enum { SAMPLES = 100000, STACKS = 70, DEPTH = 60 };
	uint64_t random = test_seed(), time = 1000000, stacks[STACKS] = {0}, defined;
	struct profile_writer *writer;
	struct profile_bytes bytes;
	struct sink *sink;

	CHECK_EQ(sink_memory_create(&bytes.data, &bytes.size, &sink), 0);
	CHECK_EQ(profile_writer_create(sink, &writer), 0);
	for (int i = 0; i < STACKS; i++)
		for (int depth = 0; depth < DEPTH; depth++)
			stacks[i] = profile_writer_stack(
				writer, stacks[i],
				profile_writer_native(writer, 1, test_random(&random) % 5000));
	CHECK_EQ(profile_writer_flush(writer), 0);
	defined = profile_writer_size(writer);
	for (uint64_t i = 0; i < SAMPLES; i++) {
		struct record record = {.kind = RECORD_alloc};

		time += test_random(&random) % 100000;
		record.alloc.time = time;
		record.alloc.thread = 1 + test_random(&random) % 4;
		record.alloc.stack = stacks[test_random(&random) % STACKS];
		record.alloc.sample = i + 1;
		record.alloc.type = 65536 + test_random(&random) % 8;
		record.alloc.size = 16 + 8 * (test_random(&random) % 16);
		record.alloc.period = 32768;
		record.alloc.kind = 1;
		CHECK_EQ(profile_writer_put(writer, &record), 0);
	}
	CHECK_EQ(profile_writer_close(writer), 0);
	printf("%zu bytes, %llu of them definitions\n", bytes.size, (unsigned long long)defined);
	CHECK(bytes.size - defined <= 8 * SAMPLES);
	CHECK(defined <= 8 * STACKS * DEPTH + 5000 * 8);
	free(bytes.data);
}

/* A recursion has few functions and never the same stack: 1.9 bytes when ids were stored whole. */
TEST(stacks_of_a_recursion_take_a_byte_each_at_most)
{
	enum { BRANCHES = 4000, DEPTH = 50 };
	uint64_t random = test_seed(), path[2 * DEPTH] = {0}, stacks = 0;
	struct profile_writer *writer;
	struct profile_bytes bytes;
	struct sink *sink;

	CHECK_EQ(sink_memory_create(&bytes.data, &bytes.size, &sink), 0);
	CHECK_EQ(profile_writer_create(sink, &writer), 0);
	for (int i = 0; i < BRANCHES; i++) {
		int depth = 1 + (int)(test_random(&random) % DEPTH);

		/* The arguments differ, by some line of the function that first leaves the old
		 * path. */
		path[depth] =
			profile_writer_stack(writer, path[depth - 1], 100 + (uint64_t)(i % 10000));
		for (int more = 1; more < DEPTH; more++)
			path[depth + more] = profile_writer_stack(writer, path[depth + more - 1],
								  1 + (uint64_t)(depth + more) % 3);
		stacks += DEPTH;
	}
	CHECK_EQ(profile_writer_close(writer), 0);
	printf("%zu bytes for %llu stacks\n", bytes.size, (unsigned long long)stacks);
	CHECK(bytes.size <= stacks);
	free(bytes.data);
}

TEST(json_is_valid_whatever_the_text)
{
	struct record record = {.kind = RECORD_argument};
	char *out = NULL;
	size_t size = 0;
	FILE *stream = open_memstream(&out, &size);

	record.argument.text =
		(struct bytes){"a\"\\\n\x01\x7f\xc3\xa4\xff\xed\xa0\x80\xc2\x9b", 14};
	record_json(stream, &record);
	fclose(stream);
	CHECK_STR(out, "{\"record\":\"argument\",\"text\":\"a\\\"\\\\\\n\\u0001\\u007f\xc3\xa4"
		       "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\\u009b\"}");
	free(out);
}
