// SPDX-License-Identifier: BSD-2-Clause
/* kept.c: keeps the last part of a recording and writes it as a profile. */
#include "kept.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../util/buffer.h"
#include "../util/output_file.h"

enum { FILES = 8, COPY_BYTES = 256 * 1024 };

#define FILE_NS_MIN UINT64_C(1000000000)

struct kept_file {
	int fd;
	uint64_t begin;
	uint64_t segment; /* the number of its first segment */
	off_t header;     /* bytes before that */
};

struct kept {
	uint64_t ns, bytes;
	struct buffer files; /* struct kept_file[], oldest first */
};

static struct kept_file *files(const struct kept *kept)
{
	return (struct kept_file *)(void *)kept->files.data;
}

static size_t count_files(const struct kept *kept)
{
	return kept->files.size / sizeof(struct kept_file);
}

int kept_create(uint64_t ns, uint64_t bytes, struct kept **out)
{
	struct kept *kept = calloc(1, sizeof(*kept));

	if (!kept)
		return -ENOMEM;
	kept->ns = ns;
	kept->bytes = bytes;
	*out = kept;
	return 0;
}

static void drop_first(struct kept *kept)
{
	struct kept_file *all = files(kept);

	close(all[0].fd);
	kept->files.size -= sizeof(*all);
	memmove(all, all + 1, kept->files.size);
}

void kept_free(struct kept *kept)
{
	if (!kept)
		return;
	while (count_files(kept))
		drop_first(kept);
	buffer_free(&kept->files);
	free(kept);
}

uint64_t kept_segment_ns(const struct kept *kept)
{
	uint64_t ns = kept->ns / FILES;

	return ns < FILE_NS_MIN ? FILE_NS_MIN : ns;
}

uint64_t kept_segment_bytes(const struct kept *kept)
{
	return kept->bytes / FILES;
}

uint64_t kept_since(const struct kept *kept)
{
	return count_files(kept) ? files(kept)[0].begin : 0;
}

/* Whether the oldest file can be dropped. The last one is still being written. */
static bool is_too_much(const struct kept *kept)
{
	const struct kept_file *all = files(kept);
	size_t count = count_files(kept);
	uint64_t bytes = 0;
	struct stat st;

	if (count < 3)
		return false;
	if (kept->ns && all[count - 1].begin - all[1].begin >= kept->ns)
		return true;
	for (size_t i = 0; i < count; i++)
		bytes += fstat(all[i].fd, &st) ? 0 : (uint64_t)st.st_size;
	/* Reserve space for the file being written. */
	return kept->bytes && bytes + kept_segment_bytes(kept) > kept->bytes;
}

static int add_file(struct kept *kept, uint64_t time, uint64_t segment, struct sink **sink)
{
	const struct kept_file file = {output_file_nameless(), time, segment, 0};
	int err = file.fd < 0 ? file.fd : buffer_append(&kept->files, &file, sizeof(file));

	if (!err)
		return sink_fd_create(file.fd, sink);
	if (file.fd >= 0)
		close(file.fd);
	return err;
}

int kept_open(struct kept *kept, uint64_t time, struct profile_writer **out)
{
	struct sink *sink;
	int err = add_file(kept, time, 1, &sink);

	err = err ? err : profile_writer_create(sink, out);
	if (err)
		return err;
	files(kept)[0].header = (off_t)profile_writer_size(*out);
	return profile_writer_segments(*out, time);
}

int kept_turn(struct kept *kept, struct profile_writer *writer, uint64_t time)
{
	struct sink *sink;
	int err = add_file(kept, time, profile_writer_number(writer) + 1, &sink);

	err = err ? err : profile_writer_turn(writer, sink, time);
	while (!err && is_too_much(kept))
		drop_first(kept);
	return err;
}

/* Reads at its own place: the recorder may write to the same file. */
static int copy_file(const struct kept_file *file, struct profile_writer *out)
{
	char *data = malloc(COPY_BYTES);
	off_t at = file->header;
	ssize_t n = 1;
	int err = data ? 0 : -ENOMEM;

	while (!err && n) {
		n = pread(file->fd, data, COPY_BYTES, at);
		if (n < 0)
			err = errno == EINTR ? 0 : -errno;
		else if (n)
			err = profile_writer_bytes(out, data, (size_t)n);
		at += n > 0 ? n : 0;
	}
	free(data);
	return err;
}

/* Behind the bytes of segments, chunks are numbered anew: in an empty segment. */
static int put_last(struct profile_writer *out, uint64_t segment, const struct record *last,
		    size_t count)
{
	const struct record record = {.kind = RECORD_segment,
				      .segment = {segment, last[count - 1].end.time}};
	int err = profile_writer_put(out, &record);

	for (size_t i = 0; i < count && !err; i++)
		err = profile_writer_put(out, &last[i]);
	return err;
}

int kept_write(const struct kept *kept, struct profile_writer *writer, uint64_t number,
	       const struct record *last, size_t count, struct sink *sink)
{
	const uint64_t end = count ? last[count - 1].end.time : UINT64_MAX;
	const struct kept_file *all = files(kept);
	struct profile_writer *out;
	int err = profile_writer_create(sink, &out), closed;

	if (err)
		return err;
	err = profile_writer_head(writer, out, all[0].segment, all[0].begin, number);
	for (size_t i = 0; i < count_files(kept) && all[i].begin < end && !err; i++)
		err = copy_file(&all[i], out);
	if (count && !err)
		err = put_last(out, profile_writer_number(writer), last, count);
	closed = profile_writer_close(out);
	return err ? err : closed;
}
