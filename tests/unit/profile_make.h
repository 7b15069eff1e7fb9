/* SPDX-License-Identifier: BSD-2-Clause */
/* profile_make.h: makes profiles in memory, for the tests that read them. */
#ifndef GCPROF_PROFILE_MAKE_H
#define GCPROF_PROFILE_MAKE_H

#include "test.h"
#include "profile/reader.h"
#include "profile/record_json.h"
#include "profile/writer.h"

struct profile_bytes {
	char *data;
	size_t size;
};

/* The i-th of a few numbers that are likely to go wrong, or a random one. */
static inline uint64_t extreme_number(uint64_t *random, uint64_t i)
{
	static const uint64_t numbers[] = {
		0,
		1,
		0x7f,
		0x80,
		0x3fff,
		0x4000,
		UINT32_MAX,
		(uint64_t)UINT32_MAX + 1,
		(uint64_t)INT64_MAX,
		(uint64_t)INT64_MIN,
		UINT64_MAX - 1,
		UINT64_MAX,
	};

	if (i < sizeof(numbers) / sizeof(numbers[0]))
		return numbers[i];
	return test_random(random) >> (test_random(random) % 64);
}

/* Fills every field of a record of this kind; BYTES point into `text` (TEXT_SIZE bytes). */
#define EXTREME_TEXT 300
static inline void extreme_record(struct record *record, unsigned kind, uint64_t *random,
				  const char *text)
{
	const struct record_info *info = record_info(kind);

	memset(record, 0, sizeof(*record));
	record->kind = kind;
	for (size_t i = 0; i < info->n_fields; i++) {
		void *at = (char *)record + info->fields[i].offset;
		uint64_t number = extreme_number(random, test_random(random) % 24);
		struct bytes bytes = {text, number % (EXTREME_TEXT + 1)};

		if (info->fields[i].kind == FIELD_BYTES)
			memcpy(at, &bytes, sizeof(bytes));
		else
			memcpy(at, &number, sizeof(number));
	}
	/* After any other, readers replace ids. */
	if (kind == RECORD_segment)
		record->segment = (struct record_segment){1, record->segment.time, 0, 0};
	/* Readers fill in what a timer sample does not say itself. */
	if (kind == RECORD_cpu && !record->cpu.ns)
		record->cpu.ns = 1;
}

/* Compares field by field. */
static inline bool same_record(const struct record *a, const struct record *b)
{
	const struct record_info *info = record_info(a->kind);

	if (a->kind != b->kind)
		return false;
	for (size_t i = 0; i < info->n_fields; i++) {
		const char *left = (const char *)a + info->fields[i].offset;
		const char *right = (const char *)b + info->fields[i].offset;
		struct bytes x, y;

		if (info->fields[i].kind != FIELD_BYTES) {
			if (memcmp(left, right, sizeof(uint64_t)) != 0)
				return false;
			continue;
		}
		memcpy(&x, left, sizeof(x));
		memcpy(&y, right, sizeof(y));
		if (x.size != y.size || (x.size && memcmp(x.data, y.data, x.size) != 0))
			return false;
	}
	return true;
}

/* A few of everything, in `chunks` chunks, with an end record if asked for. */
static inline int write_small(struct sink *sink, int chunks, bool ended)
{
	struct profile_writer *writer;
	struct record record;
	int err = profile_writer_create(sink, &writer);

	if (err)
		return err;
	for (int chunk = 0; chunk < chunks; chunk++) {
		uint64_t module = profile_writer_module(writer, "/bin/true", "\1\2\3", 3, NULL);
		uint64_t stack = 0;

		for (uint64_t depth = 0; depth < 5; depth++) {
			uint64_t frame =
				depth == 4 ? profile_writer_kernel(writer, UINT64_MAX - 99)
				: depth == 3
					? profile_writer_managed(writer, 1, 7, 42 + (uint64_t)chunk)
					: profile_writer_native(writer, module, depth * 16);

			stack = profile_writer_stack(writer, stack, frame);
		}
		for (uint64_t i = 0; i < 4; i++) {
			memset(&record, 0, sizeof(record));
			record.kind = RECORD_alloc;
			record.alloc.time = 1000000 + (uint64_t)chunk * 1000 + i;
			record.alloc.thread = 1;
			record.alloc.stack = stack;
			record.alloc.sample = (uint64_t)chunk * 4 + i + 1;
			record.alloc.type = 3;
			record.alloc.size = 48;
			record.alloc.period = 524288;
			record.alloc.kind = 1;
			profile_writer_put(writer, &record);
		}
		profile_writer_flush(writer);
	}
	if (ended) {
		memset(&record, 0, sizeof(record));
		record.kind = RECORD_end;
		record.end.time = 2000000;
		record.end.reason = 1;
		profile_writer_put(writer, &record);
	}
	return profile_writer_close(writer);
}

static inline struct profile_bytes make_small(int chunks, bool ended)
{
	struct profile_bytes out;
	struct sink *sink;

	CHECK_EQ(sink_memory_create(&out.data, &out.size, &sink), 0);
	CHECK_EQ(write_small(sink, chunks, ended), 0);
	return out;
}

/* What came of reading some bytes. */
struct read_result {
	int err; /* of opening */
	uint64_t records;
	uint64_t allocs;
	uint64_t digest; /* of all fields of all records */
	struct profile_status status;
};

static inline uint64_t digest_bytes(uint64_t digest, const void *data, size_t size)
{
	const unsigned char *at = data;

	for (size_t i = 0; i < size; i++)
		digest = (digest ^ at[i]) * UINT64_C(0x100000001b3);
	return digest;
}

static inline uint64_t digest_record(uint64_t digest, const struct record *record)
{
	const struct record_info *info = record_info(record->kind);

	digest = digest_bytes(digest, &record->kind, sizeof(record->kind));
	for (size_t i = 0; i < info->n_fields; i++) {
		const char *at = (const char *)record + info->fields[i].offset;
		struct bytes bytes;

		if (info->fields[i].kind == FIELD_BYTES) {
			memcpy(&bytes, at, sizeof(bytes));
			digest = digest_bytes(digest, &bytes.size, sizeof(bytes.size));
			digest = digest_bytes(digest, bytes.data, bytes.size);
		} else {
			digest = digest_bytes(digest, at, sizeof(uint64_t));
		}
	}
	return digest;
}

static inline struct read_result read_bytes(const void *data, size_t size)
{
	struct read_result result = {0};
	struct profile_reader *reader;
	struct source *source;
	struct record record;
	int more;

	CHECK_EQ(source_memory_open(data, size, &source), 0);
	result.err = profile_reader_open(source, &reader);
	if (result.err)
		return result;
	while ((more = profile_reader_next(reader, &record)) > 0) {
		result.records++;
		result.digest = digest_record(result.digest, &record);
		result.allocs += record.kind == RECORD_alloc;
	}
	CHECK_EQ(more, 0);
	CHECK_EQ(profile_reader_next(reader, &record), 0);
	profile_reader_status(reader, &result.status);
	profile_reader_close(reader);
	return result;
}

#endif
