// SPDX-License-Identifier: BSD-2-Clause
/* profile_files.c: tests of whole files: torn, damaged, foreign, and sinks that fail. */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include "profile_make.h"
#include "profile/status.h"

/* A sink that takes `left` bytes and then fails. */
struct failing_sink {
	struct sink sink;
	size_t left;
	int err;
	int writes_after; /* calls after the failure */
	bool *closed;
};

static int failing_write(struct sink *sink, const void *data, size_t size)
{
	struct failing_sink *failing = (struct failing_sink *)sink;

	(void)data;
	if (!failing->left && failing->writes_after++)
		test_fail(__FILE__, __LINE__, "written to after it had failed");
	if (size <= failing->left) {
		failing->left -= size;
		return 0;
	}
	failing->left = 0;
	failing->writes_after++;
	return failing->err;
}

static int failing_close(struct sink *sink)
{
	*((struct failing_sink *)sink)->closed = true;
	free(sink);
	return 0;
}

static struct sink *failing_create(size_t left, bool *closed)
{
	struct failing_sink *failing = calloc(1, sizeof(*failing));

	if (!failing)
		abort();
	*failing = (struct failing_sink){{failing_write, failing_close}, left, -ENOSPC, 0, closed};
	*closed = false;
	return &failing->sink;
}

TEST(sink_that_fails_at_any_byte_is_reported)
{
	struct profile_bytes good = make_small(3, true);
	bool closed;

	for (size_t left = 0; left < good.size; left++) {
		CHECK_EQ(write_small(failing_create(left, &closed), 3, true), -ENOSPC);
		CHECK(closed);
	}
	CHECK_EQ(write_small(failing_create(good.size, &closed), 3, true), 0);
	CHECK(closed);
	free(good.data);
}

TEST(file_torn_at_any_byte_is_read_as_far_as_it_goes)
{
	struct profile_bytes good = make_small(3, true);
	struct read_result whole = read_bytes(good.data, good.size);
	uint64_t records = 0, boundaries = 0;

	CHECK_EQ(whole.status.state, PROFILE_COMPLETE);
	CHECK_EQ(whole.status.bytes, good.size);
	CHECK_EQ(whole.status.chunks, 4);
	CHECK_EQ(whole.allocs, 12);
	for (size_t size = 0; size < good.size; size++) {
		/* A copy of its own, so that a read behind the end is caught. */
		char *torn = malloc(size ? size : 1);
		struct read_result result;

		memcpy(torn, good.data, size);
		result = read_bytes(torn, size);
		free(torn);
		if (result.err) {
			CHECK_EQ(result.err, -ENODATA);
			CHECK_EQ(records, 0);
			continue;
		}
		CHECK(result.records >= records);
		CHECK(result.status.bytes <= size);
		if (result.status.bytes == size) {
			boundaries++;
			CHECK_EQ(result.status.state, PROFILE_UNFINISHED);
		} else {
			CHECK_EQ(result.status.state, PROFILE_TORN);
			CHECK_EQ(result.records, records);
		}
		records = result.records;
	}
	/* Behind the header and behind each chunk but the last. */
	CHECK_EQ(boundaries, 4);
	free(good.data);
}

TEST(flipped_bits_are_noticed)
{
	struct profile_bytes good = make_small(3, true);
	struct read_result whole = read_bytes(good.data, good.size);
	size_t unnoticed = 0;

	for (size_t bit = 0; bit < good.size * 8; bit++) {
		struct read_result result;

		good.data[bit / 8] ^= (char)(1 << bit % 8);
		result = read_bytes(good.data, good.size);
		good.data[bit / 8] ^= (char)(1 << bit % 8);
		if (result.err)
			continue;
		CHECK(result.records <= whole.records);
		if (result.status.state == PROFILE_COMPLETE && result.digest != whole.digest)
			test_fail(__FILE__, __LINE__, "bit %zu flipped and not noticed", bit);
		unnoticed += result.status.state == PROFILE_COMPLETE;
	}
	/* Few bits mean nothing: in the frame's header, or left over in the last byte of a block.
	 */
	printf("%zu of %zu bits mean nothing\n", unnoticed, good.size * 8);
	CHECK(unnoticed < good.size * 8 / 50);
	free(good.data);
}

TEST(chunks_missing_or_out_of_order_are_damage)
{
	struct profile_bytes good = make_small(3, true);
	size_t starts[6] = {0}, n = 0, at = 0;
	struct read_result result;
	char *shuffled = malloc(good.size);

	while (at < good.size) {
		starts[n++] = at;
		at += ZSTD_findFrameCompressedSize(good.data + at, good.size - at);
	}
	CHECK_EQ(n, 5);
	/* Without the second chunk. */
	memcpy(shuffled, good.data, starts[2]);
	memcpy(shuffled + starts[2], good.data + starts[3], good.size - starts[3]);
	result = read_bytes(shuffled, good.size - (starts[3] - starts[2]));
	CHECK_EQ(result.status.state, PROFILE_DAMAGED);
	CHECK_EQ(result.status.chunks, 1);
	CHECK_EQ(result.status.bytes, starts[2]);
	/* Something else behind the first chunk. */
	memcpy(shuffled, good.data, good.size);
	memset(shuffled + starts[2], 'x', good.size - starts[2]);
	result = read_bytes(shuffled, good.size);
	CHECK_EQ(result.status.state, PROFILE_DAMAGED);
	CHECK_EQ(result.allocs, 4);
	free(shuffled);
	free(good.data);
}

/* Packs a plain record stream into one frame. */
static struct profile_bytes pack(const void *plain, size_t size)
{
	struct profile_bytes out = {malloc(ZSTD_compressBound(size)), 0};

	out.size = ZSTD_compress(out.data, ZSTD_compressBound(size), plain, size, 1);
	CHECK(!ZSTD_isError(out.size));
	return out;
}

static int open_packed(const void *plain, size_t size)
{
	struct profile_bytes packed = pack(plain, size);
	struct read_result result = read_bytes(packed.data, packed.size);

	free(packed.data);
	return result.err;
}

TEST(other_files_are_told_apart)
{
	char *zeroes = calloc(1, 1 << 20);

	CHECK_EQ(read_bytes("", 0).err, -ENODATA);
	CHECK_EQ(read_bytes("\x7f"
			    "ELF and so on",
			    14)
			 .err,
		 -EBADMSG);
	CHECK_EQ(read_bytes(zeroes, 1 << 20).err, -EBADMSG);
	CHECK_EQ(open_packed("hello world", 11), -EBADMSG);
	CHECK_EQ(open_packed(zeroes, 1 << 20), -EBADMSG);
	CHECK_EQ(open_packed("\1\x08\6gcprof\5", 10), 0);
	CHECK_EQ(open_packed("\1\x08\6gcprog\3", 10), -EBADMSG);
	free(zeroes);
}

TEST(other_versions_of_the_format_are_refused_by_the_name_of_their_writer)
{
	CHECK_EQ(open_packed("\1\x08\6gcprof\2", 10), -EPROTO);
	CHECK(strstr(profile_error_text(-EPROTO), "an older gcprof wrote it in format 2; this is"));
	/* A newer header may be longer. */
	CHECK_EQ(open_packed("\1\x15\6gcprof\6\012gcprof 9.0\1\1", 23), -EPROTO);
	CHECK(strstr(profile_error_text(-EPROTO), "gcprof 9.0 wrote it in format 6; this is"));
	CHECK_EQ(open_packed("\1\x08\6gcprof\7", 10), -EPROTO);
	CHECK(strstr(profile_error_text(-EPROTO), "a newer gcprof wrote it in format 7; this is"));
}

TEST(unknown_records_are_skipped_and_counted)
{
	static const char plain[] = "\1\x08\6gcprof\5" /* header */
				    "\2\2\0\0"         /* chunk */
				    "\4\2\1a"          /* argument */
				    "\x0f\3abc"        /* a code that is free */
				    "\xff\xff\x7f\0"   /* one far away */
				    "\4\2\1b"          /* argument */
				    "\x3f\1\2";        /* end */
	struct profile_bytes packed = pack(plain, sizeof(plain) - 1);
	struct read_result result = read_bytes(packed.data, packed.size);

	CHECK_EQ(result.err, 0);
	CHECK_EQ(result.records, 5);
	CHECK_EQ(result.status.records, 7);
	CHECK_EQ(result.status.unknown, 2);
	CHECK_EQ(result.status.state, PROFILE_COMPLETE);
	free(packed.data);
}

TEST(records_that_make_no_sense_are_damage)
{
	static const struct {
		const char *plain;
		size_t size;
	} cases[] = {
		{"\4\2\1a", 4},                   /* before any chunk */
		{"\2\2\0\0\1\x08\6gcprof\5", 14}, /* a second header */
		{"\2\2\1\0", 4},                  /* the wrong sequence */
		{"\2\2\0\0\4\5\1a", 8},           /* longer than the chunk */
		{"\2\2\0\0\4\2\2a", 8},           /* a field longer than the record */
		{"\2\2\0\0\0\0", 6},              /* code 0 */
		{"\2\2\0\0\x80", 5},              /* an endless code */
		{"\2\2\0\0\4\xff\xff\xff\xff\xff\xff\xff\xff\xff\1", 15},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char plain[64] = "\1\x08\6gcprof\5";
		struct profile_bytes packed;
		struct read_result result;

		memcpy(plain + 10, cases[i].plain, cases[i].size);
		packed = pack(plain, 10 + cases[i].size);
		result = read_bytes(packed.data, packed.size);
		CHECK_EQ(result.err, 0);
		CHECK_EQ(result.status.state, PROFILE_DAMAGED);
		free(packed.data);
	}
}

TEST(frame_that_unpacks_without_end_is_refused)
{
	size_t size = (size_t)80 << 20;
	char *zeroes = calloc(1, size);
	struct profile_bytes bomb = pack(zeroes, size), good = make_small(1, false);
	char *both = malloc(good.size + bomb.size);
	struct read_result result;

	memcpy(both, good.data, good.size);
	memcpy(both + good.size, bomb.data, bomb.size);
	result = read_bytes(both, good.size + bomb.size);
	CHECK_EQ(result.status.state, PROFILE_DAMAGED);
	CHECK_EQ(result.allocs, 4);
	CHECK_EQ(read_bytes(bomb.data, bomb.size).err, -EBADMSG);
	free(both);
	free(bomb.data);
	free(good.data);
	free(zeroes);
}

TEST(big_chunks_close_themselves)
{
	struct profile_writer *writer;
	struct profile_bytes bytes;
	struct read_result result;
	struct sink *sink;

	CHECK_EQ(sink_memory_create(&bytes.data, &bytes.size, &sink), 0);
	CHECK_EQ(profile_writer_create(sink, &writer), 0);
	for (uint64_t i = 0; i < 200000; i++)
		CHECK(profile_writer_native(writer, 1, i * 977) == i + 1);
	CHECK(profile_writer_size(writer) > 100000);
	CHECK_EQ(profile_writer_close(writer), 0);
	result = read_bytes(bytes.data, bytes.size);
	CHECK_EQ(result.status.state, PROFILE_UNFINISHED);
	CHECK(result.status.chunks >= 5);
	CHECK_EQ(result.records, 200001 + result.status.chunks);
	free(bytes.data);
}

/* A million names: memory is bounded, so some are defined twice, but each id means one text. */
TEST(strings_without_end_are_forgotten_and_defined_again)
{
	enum { STRINGS = 300000 };
	struct profile_writer *writer;
	struct profile_reader *reader;
	struct profile_bytes bytes;
	struct source *source;
	struct record record;
	struct sink *sink;
	uint64_t first, last = 0, seen = 0;
	char text[64];

	CHECK_EQ(sink_memory_create(&bytes.data, &bytes.size, &sink), 0);
	CHECK_EQ(profile_writer_create(sink, &writer), 0);
	first = profile_writer_string(writer, "first", 5);
	CHECK_EQ(profile_writer_string(writer, "first", 5), first);
	for (unsigned i = 0; i < STRINGS; i++) {
		int size = snprintf(text, sizeof(text), "string number %u", i);
		uint64_t id = profile_writer_string(writer, text, (size_t)size);

		CHECK(id > last);
		last = id;
	}
	CHECK(profile_writer_string(writer, "first", 5) > last);
	CHECK_EQ(profile_writer_close(writer), 0);

	CHECK_EQ(source_memory_open(bytes.data, bytes.size, &source), 0);
	CHECK_EQ(profile_reader_open(source, &reader), 0);
	while (profile_reader_next(reader, &record) == 1) {
		if (record.kind != RECORD_string)
			continue;
		CHECK_EQ(record.string.id, ++seen);
		if (record.string.text.size != 5 || memcmp(record.string.text.data, "first", 5))
			continue;
		CHECK(record.string.id == first || record.string.id > last);
	}
	CHECK_EQ(seen, STRINGS + 2);
	profile_reader_close(reader);
	free(bytes.data);
}

TEST(stacks_without_end_are_forgotten_and_defined_again)
{
	struct profile_writer *writer;
	struct profile_bytes bytes;
	struct sink *sink;
	uint64_t first, last = 0;

	CHECK_EQ(sink_memory_create(&bytes.data, &bytes.size, &sink), 0);
	CHECK_EQ(profile_writer_create(sink, &writer), 0);
	first = profile_writer_stack(writer, 0, 7);
	for (uint64_t i = 0; i < 400000; i++) {
		uint64_t id = profile_writer_stack(writer, first, i + 1);

		CHECK(id > last);
		last = id;
	}
	/* What came since then is known, what came before has another id. */
	CHECK_EQ(profile_writer_stack(writer, first, 400000), last);
	CHECK(profile_writer_stack(writer, 0, 7) > last);
	CHECK_EQ(profile_writer_close(writer), 0);
	free(bytes.data);
}

TEST(output_is_written_whole_or_fails)
{
	int fd = open("/dev/full", O_WRONLY);
	struct sink *sink;

	CHECK_EQ(sink_fd_create(fd, &sink), 0);
	CHECK_EQ(sink->write(sink, "x", 1), -ENOSPC);
	CHECK_EQ(sink->close(sink), 0);
	/* The descriptor is its owner's, unless it was handed over. */
	CHECK_EQ(sink_file_adopt(fd, &sink), 0);
	CHECK_EQ(sink->close(sink), 0);
	CHECK_EQ(close(fd), -1);
}
