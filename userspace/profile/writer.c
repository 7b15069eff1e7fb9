// SPDX-License-Identifier: BSD-2-Clause
/* writer.c: writes a profile: interns definitions, encodes records, closes chunks. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "again.h"
#include "codec.h"
#include "cpu_time.h"
#include "intern.h"
#include "writer.h"
#include "../util/version.h"

/* Size of a chunk before compression; larger ones would compress little better. */
#define CHUNK_BYTES (256 * 1024)

/* Level of zstd. Level 2 takes 1.2 to 1.5 times as long; it saves 4 % if most bytes are system
 * calls and timer samples, and nothing if they are allocation samples and stacks. */
#define FORMAT_LEVEL 1
#define MAGIC_OFFSET 12 /* in a file */

#define DEPTH_MAX  4096                  /* frames of a stack that is renewed */
#define STRING_MAX (CODEC_BYTES_MAX / 2) /* bytes: with others it fits an `again` record */

#define SECOND_NS UINT64_C(1000000000)

/* A segment ends when it is this long, has so many bytes before compression, and so many times
 * those that it repeats. */
#define SEGMENT_NS    (10 * SECOND_NS)
#define SEGMENT_BYTES ((uint64_t)4 << 20)
#define SEGMENT_TIMES 20

const struct output_mark profile_mark = {MAGIC_OFFSET, FORMAT_MAGIC};

struct profile_writer {
	struct sink *sink;
	struct codec *codec;
	struct intern intern;
	writer_watch *watch; /* sees all records; may be NULL */
	void *watcher;
	struct again *again;    /* of a recording in segments, else NULL */
	uint64_t segment;       /* begin of the current one, ns */
	uint64_t segment_bytes; /* of its complete chunks, before compression */
	ZSTD_CCtx *zstd;
	struct cpu_sums *cpu;
	uint64_t tick_ns;    /* between two timer ticks */
	struct buffer plain; /* the open chunk; empty: none */
	struct buffer packed;
	uint64_t chunks; /* begun in this file */
	uint64_t written;
	uint64_t parts;     /* complete files */
	bool whole;         /* only a flush ends a chunk */
	uint64_t last_time; /* last TIME seen: the base of the next chunk */
	uint64_t latest;    /* of all records, which are not all in order of time */
	uint64_t stored;    /* the same of what was written */
	int error;          /* the first failure; nothing is written after it */
};

/* Remembers the first error and returns it from then on. */
static int fail(struct profile_writer *writer, int err)
{
	if (err && !writer->error)
		writer->error = err;
	return writer->error;
}

static int put_cpu_time(void *context, const struct record *record)
{
	struct profile_writer *writer = context;

	return codec_encode(writer->codec, record, &writer->plain);
}

/* Puts the weight of the chunk's timer samples, at its end; `last`: at that of the file. */
static int put_cpu_times(struct profile_writer *writer, bool last)
{
	return cpu_sums_divide(writer->cpu, writer->tick_ns, last, put_cpu_time, writer);
}

/* Compresses the open chunk into one frame and writes it to the sink. */
static int write_frame(struct profile_writer *writer)
{
	int err = put_cpu_times(writer, false);
	size_t bound, size;

	if (err)
		return err;
	bound = ZSTD_compressBound(writer->plain.size);
	writer->packed.size = 0;
	err = buffer_reserve(&writer->packed, bound);
	if (err)
		return err;
	size = ZSTD_compress2(writer->zstd, writer->packed.data, bound, writer->plain.data,
			      writer->plain.size);
	if (ZSTD_isError(size))
		return -ENOMEM; /* the only possible error: bound and parameters are valid */
	err = writer->sink->write(writer->sink, writer->packed.data, size);
	if (err)
		return err;
	writer->written += size;
	writer->segment_bytes += writer->plain.size;
	writer->stored = writer->latest;
	writer->plain.size = 0;
	return 0;
}

static int write_header(struct profile_writer *writer)
{
	struct record record = {.kind = RECORD_header};
	int err;

	record.header.magic = (struct bytes){FORMAT_MAGIC, strlen(FORMAT_MAGIC)};
	record.header.version = FORMAT_NUMBER;
	record.header.writer = (struct bytes){gcprof_version, strlen(gcprof_version)};
	err = codec_encode(writer->codec, &record, &writer->plain);
	return err ? err : write_frame(writer);
}

static void release(struct profile_writer *writer)
{
	intern_finish(&writer->intern);
	again_free(writer->again);
	ZSTD_freeCCtx(writer->zstd);
	cpu_sums_free(writer->cpu);
	buffer_free(&writer->plain);
	buffer_free(&writer->packed);
	free(writer->codec);
	free(writer);
}

static int init(struct profile_writer *writer)
{
	int err = intern_init(&writer->intern);

	err = err ? err : cpu_sums_create(&writer->cpu);
	if (err)
		return err;
	writer->codec = calloc(1, sizeof(*writer->codec));
	writer->zstd = ZSTD_createCCtx();
	if (!writer->codec || !writer->zstd)
		return -ENOMEM;
	if (ZSTD_isError(
		    ZSTD_CCtx_setParameter(writer->zstd, ZSTD_c_compressionLevel, FORMAT_LEVEL)) ||
	    ZSTD_isError(ZSTD_CCtx_setParameter(writer->zstd, ZSTD_c_checksumFlag, 1)))
		return -EINVAL;
	return write_header(writer);
}

int profile_writer_create(struct sink *sink, struct profile_writer **out)
{
	struct profile_writer *writer = calloc(1, sizeof(*writer));
	int err = -ENOMEM;

	if (writer) {
		writer->sink = sink;
		err = init(writer);
		if (err)
			release(writer);
	}
	if (err) {
		sink->close(sink);
		return err;
	}
	*out = writer;
	return 0;
}

/* The first TIME of a record; false if its kind has none. */
static bool record_time(const struct record *record, uint64_t *time)
{
	const struct record_info *info = record_info(record->kind);

	for (size_t i = 0; i < info->n_fields; i++) {
		if (info->fields[i].kind == FIELD_TIME) {
			memcpy(time, (const char *)record + info->fields[i].offset, sizeof(*time));
			return true;
		}
	}
	return false;
}

static int begin_chunk(struct profile_writer *writer)
{
	struct record record = {.kind = RECORD_chunk};

	codec_reset(writer->codec, writer->last_time);
	record.chunk.sequence = writer->chunks;
	record.chunk.time = writer->last_time;
	writer->chunks++;
	return codec_encode(writer->codec, &record, &writer->plain);
}

/* Puts a record into the file unchanged. */
static int put_plain(void *context, const struct record *record)
{
	struct profile_writer *writer = context;
	int err = 0;

	if (record_time(record, &writer->last_time) && writer->last_time > writer->latest)
		writer->latest = writer->last_time;
	if (!writer->plain.size)
		err = begin_chunk(writer);
	/* The end record must be the last. */
	if (!err && record->kind == RECORD_end)
		err = put_cpu_times(writer, true);
	if (!err)
		err = codec_encode(writer->codec, record, &writer->plain);
	if (err == -EMSGSIZE)
		return err;
	if (!err && writer->plain.size >= CHUNK_BYTES && !writer->whole)
		err = write_frame(writer);
	return fail(writer, err);
}

int profile_writer_put(struct profile_writer *writer, const struct record *record)
{
	int err;

	if (writer->error)
		return writer->error;
	if (!record_info(record->kind) || record->kind == RECORD_header ||
	    record->kind == RECORD_chunk)
		return -EINVAL;
	if (record->kind == RECORD_recording && record->recording.frequency)
		writer->tick_ns = SECOND_NS / record->recording.frequency;
	err = writer->watch ? writer->watch(writer->watcher, record) : 0;
	if (err)
		return fail(writer, err);
	if (!writer->again)
		return put_plain(writer, record);
	err = again_put(writer->again, record);
	return err == -ENOMEM ? fail(writer, err) : err;
}

static uint64_t put_string(void *context, const char *text, size_t size)
{
	return profile_writer_string(context, text, size);
}

int profile_writer_segments(struct profile_writer *writer, uint64_t time)
{
	const struct again_output output = {put_plain, put_string, writer};
	int err = again_create(&output, &writer->again);

	writer->segment = time;
	return fail(writer, err ? err : again_segment(writer->again, time));
}

/* Between two segments. */
static void end_segment(struct profile_writer *writer, uint64_t time)
{
	fail(writer, profile_writer_flush(writer));
	writer->chunks = 0;
	writer->segment = writer->last_time = time;
	writer->segment_bytes = 0;
}

/* The samples of a file do not stand for time before it. */
static void change_sink(struct profile_writer *writer, struct sink *sink)
{
	fail(writer, writer->sink->close(writer->sink));
	writer->sink = sink;
	writer->written = 0;
	cpu_sums_cut(writer->cpu);
}

static int begin_segment(struct profile_writer *writer, uint64_t time)
{
	return writer->error ? writer->error : fail(writer, again_segment(writer->again, time));
}

int profile_writer_segment(struct profile_writer *writer, uint64_t time)
{
	end_segment(writer, time);
	return begin_segment(writer, time);
}

int profile_writer_turn(struct profile_writer *writer, struct sink *sink, uint64_t time)
{
	end_segment(writer, time);
	change_sink(writer, sink);
	return begin_segment(writer, time);
}

int profile_writer_next(struct profile_writer *writer, struct sink *sink, uint64_t time)
{
	end_segment(writer, time);
	change_sink(writer, sink);
	codec_reset(writer->codec, 0);
	if (!writer->error)
		fail(writer, write_header(writer));
	if (!writer->error)
		profile_writer_head(writer, writer, UINT64_MAX, time, ++writer->parts + 1);
	return begin_segment(writer, time);
}

int profile_writer_head(struct profile_writer *writer, struct profile_writer *out, uint64_t segment,
			uint64_t time, uint64_t part)
{
	const struct again_output output = {.write = put_plain, .context = out};

	return fail(out, again_head(writer->again, &output, segment, time, part));
}

int profile_writer_bytes(struct profile_writer *writer, const void *data, size_t size)
{
	int err = profile_writer_flush(writer);

	err = err ? err : writer->sink->write(writer->sink, data, size);
	writer->chunks = 0;
	writer->written += size;
	return fail(writer, err);
}

uint64_t profile_writer_number(const struct profile_writer *writer)
{
	return writer->again ? again_number(writer->again) : 0;
}

bool profile_writer_is_long(const struct profile_writer *writer, uint64_t time)
{
	return writer->again && time >= writer->segment + SEGMENT_NS &&
	       writer->segment_bytes >= SEGMENT_BYTES &&
	       writer->segment_bytes >= SEGMENT_TIMES * again_bytes(writer->again);
}

void profile_writer_whole(struct profile_writer *writer)
{
	writer->whole = true;
}

void profile_writer_watch(struct profile_writer *writer, writer_watch *watch, void *context)
{
	writer->watch = watch;
	writer->watcher = context;
}

int profile_writer_ran(struct profile_writer *writer, uint64_t thread, int64_t ns, uint64_t ticks)
{
	int err = writer->again ? again_thread(writer->again, thread) : 0;

	return fail(writer, err ? err : cpu_sums_add(writer->cpu, thread, ns, ticks));
}

int profile_writer_flush(struct profile_writer *writer)
{
	if (writer->error || !writer->plain.size)
		return writer->error;
	return fail(writer, write_frame(writer));
}

uint64_t profile_writer_size(const struct profile_writer *writer)
{
	return writer->written;
}

uint64_t profile_writer_stored(const struct profile_writer *writer)
{
	return writer->stored;
}

int profile_writer_close(struct profile_writer *writer)
{
	int err, closed;

	if (!writer)
		return 0;
	err = profile_writer_flush(writer);
	closed = writer->sink->close(writer->sink);
	release(writer);
	return err ? err : closed;
}

/* Writes the definition of a newly assigned id; returns the id. */
static uint64_t define(struct profile_writer *writer, uint64_t id, bool added,
		       const struct record *record)
{
	if (!id)
		fail(writer, -ENOMEM);
	else if (added)
		profile_writer_put(writer, record);
	return id;
}

uint64_t profile_writer_string(struct profile_writer *writer, const char *text, size_t size)
{
	struct record record = {.kind = RECORD_string};
	bool added = false;

	if (size > STRING_MAX)
		size = STRING_MAX;
	record.string.id = intern_string(&writer->intern, text, size, &added);
	record.string.text = (struct bytes){text, size};
	return define(writer, record.string.id, added, &record);
}

uint64_t profile_writer_module(struct profile_writer *writer, const char *path,
			       const void *build_id, size_t build_id_size,
			       const struct code_span *own)
{
	struct record record = {.kind = RECORD_module};
	struct bytes name = {path, strlen(path)}, id = {build_id, build_id_size};
	bool added = false;

	record.module.path = profile_writer_string(writer, name.data, name.size);
	if (!record.module.path)
		return 0;
	record.module.id = intern_module(&writer->intern, name, id, &added);
	record.module.build_id = id;
	if (own) {
		record.module.own = own->offset;
		record.module.own_size = own->size;
	}
	return define(writer, record.module.id, added, &record);
}

uint64_t profile_writer_file(struct profile_writer *writer, const struct module_file *file)
{
	const struct file_stamp *stamp = &file->stamp;
	struct record record = {.kind = RECORD_module};
	struct bytes name = {file->path, strlen(file->path)};
	struct {
		struct file_stamp stamp;
		uint64_t number;
	} key = {*stamp, stamp->changed ? 0 : file->number};
	struct bytes identity = {(const char *)&key, sizeof(key)};
	bool added = false;

	record.module.path = profile_writer_string(writer, name.data, name.size);
	if (!record.module.path)
		return 0;
	record.module.id = intern_module(&writer->intern, name, identity, &added);
	record.module.build_id = file->build_id;
	record.module.device = stamp->device;
	record.module.inode = stamp->inode;
	record.module.size = stamp->size;
	record.module.changed = stamp->changed;
	record.module.user = UINT64_C(1) + file->user;
	record.module.own = file->own.offset;
	record.module.own_size = file->own.size;
	return define(writer, record.module.id, added, &record);
}

uint64_t profile_writer_generated(struct profile_writer *writer, uint64_t process)
{
	struct record record = {.kind = RECORD_module};
	struct bytes name = {GENERATED_PATH, sizeof(GENERATED_PATH) - 1};
	struct bytes owner = {(const char *)&process, sizeof(process)};
	bool added = false;

	record.module.path = profile_writer_string(writer, name.data, name.size);
	if (!record.module.path)
		return 0;
	record.module.id = intern_module(&writer->intern, name, owner, &added);
	record.module.process = process;
	return define(writer, record.module.id, added, &record);
}

uint64_t profile_writer_native(struct profile_writer *writer, uint64_t module, uint64_t offset)
{
	struct record record = {.kind = RECORD_native_frame};
	bool added = false;

	record.native_frame.id = intern_native(&writer->intern, module, offset, &added);
	record.native_frame.module = module;
	record.native_frame.offset = offset;
	return define(writer, record.native_frame.id, added, &record);
}

uint64_t profile_writer_kernel(struct profile_writer *writer, uint64_t address)
{
	struct record record = {.kind = RECORD_kernel_frame};
	bool added = false;

	/* The record omits the address, which would reveal the kernel's location. */
	record.kernel_frame.id = intern_kernel(&writer->intern, address, &added);
	return define(writer, record.kernel_frame.id, added, &record);
}

uint64_t profile_writer_managed(struct profile_writer *writer, uint64_t process, uint64_t code,
				uint64_t line)
{
	struct record record = {.kind = RECORD_managed_frame};
	uint64_t key[3] = {process, code, line};
	bool added = false;

	record.managed_frame.id = intern_managed(&writer->intern, key, &added);
	record.managed_frame.process = process;
	record.managed_frame.code = code;
	record.managed_frame.line = line;
	return define(writer, record.managed_frame.id, added, &record);
}

uint64_t profile_writer_stack(struct profile_writer *writer, uint64_t parent, uint64_t frame)
{
	struct record record = {.kind = RECORD_stack};
	bool added = false;

	record.stack.id = intern_stack(&writer->intern, parent, frame, &added);
	record.stack.parent = parent;
	record.stack.frame = frame;
	return define(writer, record.stack.id, added, &record);
}

bool profile_writer_knows_stack(const struct profile_writer *writer, uint64_t stack)
{
	return !writer->again || nodes_know(writer->intern.stacks, stack);
}

uint64_t profile_writer_renew_stack(struct profile_writer *writer, uint64_t stack)
{
	uint64_t frames[DEPTH_MAX], frame;
	size_t n = 0;

	if (!stack || profile_writer_knows_stack(writer, stack))
		return stack;
	while (stack && n < DEPTH_MAX && again_stack(writer->again, &stack, &frame))
		frames[n++] = frame;
	if (stack)
		return 0;
	for (; n; n--) {
		stack = profile_writer_stack(writer, stack, frames[n - 1]);
		if (!stack)
			return 0;
	}
	return stack;
}

void profile_writer_each_frame(struct profile_writer *writer, frame_visit *visit, void *context)
{
	const struct intern_frame *frames = (const void *)writer->intern.frames.data;
	size_t n = writer->intern.frames.size / sizeof(*frames);

	for (size_t i = 0; i < n; i++)
		visit(context, &frames[i]);
	writer->intern.frames.size = 0;
}
