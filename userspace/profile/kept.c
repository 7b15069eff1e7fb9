// SPDX-License-Identifier: BSD-2-Clause
/* kept.c: keeps the last part of a recording and writes it as a profile. */
#include "kept.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "carry.h"
#include "reader.h"
#include "writer.h"
#include "../util/buffer.h"
#include "../util/monotonic.h"
#include "../util/output_file.h"

enum { SEGMENTS = 8, TURN_RECORDS = 256 };

#define SEGMENT_NS_MIN UINT64_C(1000000000)

struct segment {
	int fd;
	uint64_t begin;
};

struct kept {
	uint64_t ns, bytes;
	struct buffer segments;         /* struct segment[], oldest first */
	struct carry *carry;            /* definitions of dropped segments */
	struct profile_reader *dropped; /* the segment being dropped; NULL: none */
};

/* --- segments ------------------------------------------------------------------------------- */

/* Reads with pread(): another process may read the same descriptor. */
struct segment_source {
	struct source source;
	int fd;
	off_t at;
};

static ssize_t segment_read(struct source *source, void *data, size_t size)
{
	struct segment_source *segment = (struct segment_source *)source;
	ssize_t n;

	do
		n = pread(segment->fd, data, size, segment->at);
	while (n < 0 && errno == EINTR);
	segment->at += n > 0 ? n : 0;
	return n < 0 ? -errno : n;
}

static void segment_close(struct source *source)
{
	free(source);
}

static int segment_open(const struct segment *segment, struct profile_reader **out)
{
	struct segment_source *source = malloc(sizeof(*source));

	if (!source)
		return -ENOMEM;
	*source = (struct segment_source){{segment_read, segment_close}, segment->fd, 0};
	return profile_reader_open(&source->source, out);
}

static struct segment *segments(const struct kept *kept)
{
	return (struct segment *)(void *)kept->segments.data;
}

static size_t segment_count(const struct kept *kept)
{
	return kept->segments.size / sizeof(struct segment);
}

static void drop_first(struct kept *kept)
{
	struct segment *all = segments(kept);

	close(all[0].fd);
	kept->segments.size -= sizeof(*all);
	memmove(all, all + 1, kept->segments.size);
}

/* --- dropping ------------------------------------------------------------------------------- */

static int write_nothing(void *context, const struct record *record)
{
	(void)context;
	(void)record;
	return 0;
}

int kept_create(uint64_t ns, uint64_t bytes, struct kept **out)
{
	struct kept *kept = calloc(1, sizeof(*kept));

	if (!kept)
		return -ENOMEM;
	kept->ns = ns;
	kept->bytes = bytes;
	if (carry_create(write_nothing, NULL, &kept->carry)) {
		free(kept);
		return -ENOMEM;
	}
	*out = kept;
	return 0;
}

void kept_free(struct kept *kept)
{
	if (!kept)
		return;
	while (segment_count(kept))
		drop_first(kept);
	profile_reader_close(kept->dropped);
	carry_free(kept->carry);
	buffer_free(&kept->segments);
	free(kept);
}

int kept_begin(struct kept *kept, uint64_t time, struct sink **sink)
{
	const struct segment segment = {output_file_nameless(), time};
	int err = segment.fd < 0 ? segment.fd
				 : buffer_append(&kept->segments, &segment, sizeof(segment));

	if (err) {
		if (segment.fd >= 0)
			close(segment.fd);
		return err;
	}
	return sink_fd_create(segment.fd, sink);
}

uint64_t kept_segment_ns(const struct kept *kept)
{
	uint64_t ns = kept->ns / SEGMENTS;

	return ns < SEGMENT_NS_MIN ? SEGMENT_NS_MIN : ns;
}

uint64_t kept_segment_bytes(const struct kept *kept)
{
	return kept->bytes / SEGMENTS;
}

/* Whether the oldest segment can be dropped. The last one is still being written. */
static bool is_too_much(const struct kept *kept)
{
	const struct segment *all = segments(kept);
	size_t count = segment_count(kept);
	uint64_t bytes = 0;
	struct stat st;

	if (count < 3)
		return false;
	if (kept->ns && all[count - 1].begin - all[1].begin >= kept->ns)
		return true;
	for (size_t i = 0; i < count; i++)
		bytes += fstat(all[i].fd, &st) ? 0 : (uint64_t)st.st_size;
	/* Reserve space for the segment being written. */
	return kept->bytes && bytes + kept_segment_bytes(kept) > kept->bytes;
}

/* Moves some records of the oldest segment to `carry`: 1, 0 at its end, or a negative errno. */
static int take_some(struct kept *kept)
{
	struct record record;
	int more = 1, err;

	for (int i = 0; more > 0 && i < TURN_RECORDS; i++) {
		more = profile_reader_next(kept->dropped, &record);
		if (more <= 0 || record.kind == RECORD_header || record.kind == RECORD_chunk)
			continue;
		err = carry_put(kept->carry, &record);
		if (err && err != -ENOENT)
			return err;
	}
	return more;
}

int kept_turn(struct kept *kept, uint64_t ns)
{
	uint64_t end = monotonic_ns() + ns;
	int more = 0;

	while (!kept_is_settled(kept) && monotonic_ns() < end) {
		if (!kept->dropped)
			more = segment_open(&segments(kept)[0], &kept->dropped);
		if (more >= 0)
			more = take_some(kept);
		if (more < 0)
			return more;
		if (more)
			continue;
		profile_reader_close(kept->dropped);
		kept->dropped = NULL;
		drop_first(kept);
	}
	return 0;
}

bool kept_is_settled(const struct kept *kept)
{
	return !kept->dropped && !is_too_much(kept);
}

uint64_t kept_since(const struct kept *kept)
{
	return segment_count(kept) ? segments(kept)[0].begin : 0;
}

/* --- writing -------------------------------------------------------------------------------- */

static int copy_segment(struct profile_writer *writer, const struct segment *segment)
{
	struct profile_reader *reader;
	struct record record;
	int err = segment_open(segment, &reader);

	if (err)
		return err == -ENODATA ? 0 : err; /* nothing was written yet */
	while (!err && (err = profile_reader_next(reader, &record)) > 0) {
		err = profile_writer_copy(writer, &record);
		err = err == -ENOENT ? 0 : err;
	}
	profile_reader_close(reader);
	return err;
}

int kept_write(struct kept *kept, uint64_t number, const struct record *last, size_t count,
	       struct sink *sink)
{
	const uint64_t end = count ? last[count - 1].end.time : UINT64_MAX;
	struct profile_writer *writer;
	int err = profile_writer_create(sink, &writer), closed;

	if (err)
		return err;
	err = profile_writer_resume(writer, kept->carry, kept_since(kept), number);
	kept->carry = NULL;
	/* The recorder may already have written to the next segment. */
	for (size_t i = 0; i < segment_count(kept) && segments(kept)[i].begin < end && !err; i++)
		err = copy_segment(writer, &segments(kept)[i]);
	for (size_t i = 0; i < count && !err; i++)
		err = profile_writer_copy(writer, &last[i]);
	closed = profile_writer_close(writer);
	return err ? err : closed;
}
