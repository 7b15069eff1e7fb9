// SPDX-License-Identifier: BSD-2-Clause
/* reader.c: returns the records of a profile, complete or torn. */
/*
 * The file is read frame by frame. A frame is decompressed and its checksum verified before its
 * first record is returned. So records are what a writer wrote, or a well-formed forgery.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "chain.h"
#include "codec.h"
#include "cpu_time.h"
#include "reader.h"

#define INPUT_BYTES  (512 * 1024)
#define FRAME_MAX    (64 << 20) /* plain bytes in one frame; writers make 256 KiB plus a record */
#define WINDOW_LOG   26         /* memory that zstd may use, as a power of two */
#define FIRST_PLAIN  (512 * 1024)
#define HEADER_MIN   18 /* bytes that zstd needs for a frame's content size */
#define HEADER_FRAME 64 /* a shorter file may be a truncated profile */

enum frame_result { FRAME_OK, FRAME_END, FRAME_TORN, FRAME_BAD };

struct profile_reader {
	struct source *source;
	ZSTD_DCtx *zstd;
	struct codec *codec;
	char *input_data;
	ZSTD_inBuffer input;
	struct buffer plain;    /* the current frame */
	struct cursor records;  /* the rest of it */
	struct cursor repeated; /* the rest of an `again` record */
	struct codec *repeats;  /* of that */
	struct chain *chain;
	uint64_t consumed;   /* bytes of the file up to the end of this frame */
	uint64_t chunk_next; /* sequence that the next chunk has, if no segment begins */
	uint64_t chunks;     /* begun */
	bool begins;         /* a segment must begin, since chunks are numbered anew */
	bool raw;            /* records are returned as they are stored */
	bool open;           /* the header was returned */
	bool ended;          /* the last record was an end record */
	bool done;
	uint64_t frequency;     /* of the timer, Hz; 0: unknown */
	struct cpu_shares *cpu; /* weights of this chunk's timer samples */
	struct profile_status status;
};

/* Fills the empty input; 0 at the end of the file. */
static ssize_t refill(struct profile_reader *reader)
{
	ssize_t n = reader->source->read(reader->source, reader->input_data, INPUT_BYTES);

	reader->input = (ZSTD_inBuffer){reader->input_data, n > 0 ? (size_t)n : 0, 0};
	return n;
}

/* Reserves the whole frame's size if it is known, so that zstd needs no copy. */
static int expect_frame(struct profile_reader *reader)
{
	const char *at = reader->input_data + reader->input.pos;
	size_t left = reader->input.size - reader->input.pos;
	unsigned long long size = ZSTD_CONTENTSIZE_UNKNOWN;

	reader->plain.size = 0;
	if (left >= HEADER_MIN)
		size = ZSTD_getFrameContentSize(at, left);
	if (size == ZSTD_CONTENTSIZE_UNKNOWN || size == ZSTD_CONTENTSIZE_ERROR || size > FRAME_MAX)
		size = FIRST_PLAIN;
	return buffer_reserve(&reader->plain, size ? size : 1);
}

/* Decompresses more; *hint is 0 at the end of a frame. A negative errno, or a frame_result. */
static int decompress_some(struct profile_reader *reader, size_t *hint)
{
	ZSTD_outBuffer output;
	size_t before = reader->input.pos;

	if (reader->plain.size == reader->plain.capacity) {
		if (reader->plain.size >= FRAME_MAX)
			return FRAME_BAD;
		if (buffer_reserve(&reader->plain, reader->plain.size))
			return -ENOMEM;
	}
	output = (ZSTD_outBuffer){reader->plain.data, reader->plain.capacity, reader->plain.size};
	*hint = ZSTD_decompressStream(reader->zstd, &output, &reader->input);
	reader->consumed += reader->input.pos - before;
	if (ZSTD_isError(*hint))
		return FRAME_BAD;
	reader->plain.size = output.pos;
	return FRAME_OK;
}

/* Reads one complete frame into `plain`. A negative errno, or a frame_result. */
static int read_frame(struct profile_reader *reader)
{
	bool begun = false;
	size_t hint = 1;
	int err;

	reader->consumed = reader->status.bytes;
	for (;;) {
		bool full = begun && reader->plain.size == reader->plain.capacity;

		if (reader->input.pos == reader->input.size && !full) {
			ssize_t n = refill(reader);

			if (n < 0)
				return (int)n;
			if (n == 0)
				return begun ? FRAME_TORN : FRAME_END;
		}
		if (!begun && expect_frame(reader))
			return -ENOMEM;
		begun = true;
		err = decompress_some(reader, &hint);
		if (err)
			return err;
		if (hint == 0)
			break;
	}
	return reader->plain.size > FRAME_MAX ? FRAME_BAD : FRAME_OK;
}

/* Ends reading in this state. */
static int stop(struct profile_reader *reader, enum profile_state state)
{
	reader->done = true;
	reader->status.state = state;
	return 0;
}

/* Code and length of the next record, and its payload. */
static bool next_payload(struct cursor *records, uint64_t *code, struct cursor *payload)
{
	const uint8_t *data;
	uint64_t size;

	if (!cursor_varint(records, code) || *code == 0 || !cursor_varint(records, &size) ||
	    !cursor_take(records, size, &data))
		return false;
	*payload = cursor_make(data, size);
	return true;
}

/* Reads the weights of a new chunk's timer samples, which are at its end. Ignores invalid records;
 * next_in_frame() finds them. */
static int look_ahead(struct profile_reader *reader)
{
	struct cursor records = reader->records, payload;
	uint64_t code = 0;
	int err = 0;

	cpu_shares_begin(reader->cpu);
	while (!err && records.at < records.end && code != RECORD_chunk) {
		struct record record;

		if (!next_payload(&records, &code, &payload))
			return 0;
		if (code == RECORD_cpu_time &&
		    !codec_decode(reader->codec, RECORD_cpu_time, payload, &record))
			err = cpu_shares_add(reader->cpu, &record.cpu_time);
	}
	return err;
}

/* Tracks what affects later records, and fills in the time that a timer sample stands for. */
static int relate(struct profile_reader *reader, struct record *record)
{
	if (record->kind == RECORD_chunk)
		return look_ahead(reader);
	if (record->kind == RECORD_recording)
		reader->frequency = record->recording.frequency;
	else if (record->kind == RECORD_cpu)
		cpu_shares_fill(reader->cpu, reader->frequency, &record->cpu);
	return 0;
}

/* Rules between records: one header, chunks in sequence, no record outside of a chunk. */
static bool fits(struct profile_reader *reader, const struct record *record)
{
	bool begins = reader->begins;

	reader->begins = false;
	if (record->kind == RECORD_header)
		return !reader->open;
	if (record->kind != RECORD_chunk)
		return reader->chunks > 0 && (!begins || record->kind == RECORD_segment);
	if (record->chunk.sequence && record->chunk.sequence != reader->chunk_next)
		return false;
	reader->begins = !record->chunk.sequence && reader->chunks;
	reader->chunk_next = record->chunk.sequence + 1;
	reader->chunks++;
	codec_reset(reader->codec, record->chunk.time);
	return true;
}

/* Decodes the next record, which may be a repeated one: 1, 0 if its code is not known, -EBADMSG. */
static int decode_next(struct profile_reader *reader, struct record *record)
{
	const bool repeats = reader->repeated.at < reader->repeated.end;
	struct codec *codec = repeats ? reader->repeats : reader->codec;
	struct cursor payload;
	uint64_t code;

	if (!next_payload(repeats ? &reader->repeated : &reader->records, &code, &payload))
		return -EBADMSG;
	reader->status.records++;
	if (code >= RECORD_CODES || !record_info((unsigned)code)) {
		reader->status.unknown++;
		return reader->chunks ? 0 : -EBADMSG;
	}
	if (codec_decode(codec, (unsigned)code, payload, record))
		return -EBADMSG;
	return (repeats ? record_may_repeat(record->kind) : fits(reader, record)) ? 1 : -EBADMSG;
}

/* The place of a record in its recording: 0; 1: it is not returned; -ENOMEM. */
static int place(struct profile_reader *reader, struct record *record, bool repeated)
{
	if (record->kind == RECORD_segment)
		return chain_segment(reader->chain, &record->segment);
	if (record->kind != RECORD_again)
		return chain_take(reader->chain, record, repeated);
	if (chain_lacks(reader->chain, &record->again)) {
		const struct bytes records = record->again.records;

		/* Goes on with them. */
		reader->repeated = cursor_make(records.data, records.size);
		codec_reset(reader->repeats, chain_time(reader->chain));
	}
	return 1;
}

/* The next known record of the frame: 1, 0 at its end, -EBADMSG if it is invalid, -ENOMEM. */
static int next_in_frame(struct profile_reader *reader, struct record *record)
{
	while (reader->repeated.at < reader->repeated.end ||
	       reader->records.at < reader->records.end) {
		const bool repeated = reader->repeated.at < reader->repeated.end;
		int result = decode_next(reader, record);

		if (result < 0)
			return result;
		if (!result)
			continue;
		reader->ended = record->kind == RECORD_end;
		result = relate(reader, record);
		if (!result && !reader->raw)
			result = place(reader, record, repeated);
		if (result <= 0)
			return result ? result : 1;
	}
	return 0;
}

/* A frame must begin with a chunk record unless it is empty. */
static bool begins_chunk(const struct profile_reader *reader)
{
	struct cursor records = cursor_make(reader->plain.data, reader->plain.size);
	uint64_t code;

	return !reader->plain.size || (cursor_varint(&records, &code) && code == RECORD_chunk);
}

/* Advances to the next frame: 1, 0 at the end, or a negative errno. */
static int next_frame(struct profile_reader *reader)
{
	int result = read_frame(reader);

	if (result < 0)
		return result;
	if (result == FRAME_END)
		return stop(reader, reader->ended ? PROFILE_COMPLETE : PROFILE_UNFINISHED);
	if (result == FRAME_TORN)
		return stop(reader, PROFILE_TORN);
	if (result == FRAME_BAD || !begins_chunk(reader))
		return stop(reader, PROFILE_DAMAGED);
	reader->records = cursor_make(reader->plain.data, reader->plain.size);
	return 1;
}

/* Counts a frame of which all records were read. */
static void finish_frame(struct profile_reader *reader)
{
	reader->status.bytes = reader->consumed;
	reader->status.plain_bytes += reader->plain.size;
	reader->status.chunks = reader->chunks;
	reader->plain.size = 0;
}

int profile_reader_next(struct profile_reader *reader, struct record *record)
{
	while (!reader->done) {
		int result;

		if (!reader->open) {
			/* Opening already decoded the header; return it now. */
			reader->records = cursor_make(reader->plain.data, reader->plain.size);
			result = next_in_frame(reader, record);
			reader->open = true;
			return result;
		}
		result = next_in_frame(reader, record);
		if (result > 0)
			return result;
		if (result < 0)
			return result == -EBADMSG ? stop(reader, PROFILE_DAMAGED) : result;
		finish_frame(reader);
		result = next_frame(reader);
		if (result < 0)
			return result;
	}
	return 0;
}

static _Thread_local struct profile_refusal refusal;

static int refuse(const struct record_header *header)
{
	const struct bytes writer = header->writer;

	refusal.format = header->version;
	snprintf(refusal.writer, sizeof(refusal.writer), "%.*s",
		 (int)(writer.size < sizeof(refusal.writer) ? writer.size : 0), writer.data);
	return -EPROTO;
}

const struct profile_refusal *profile_reader_refusal(void)
{
	return &refusal;
}

/* Reads the first frame, which must begin with the header. */
static int check_header(struct profile_reader *reader)
{
	int result = read_frame(reader);
	struct record record;
	struct cursor records, payload;
	uint64_t code;

	if (result < 0)
		return result;
	if (result == FRAME_END)
		return -ENODATA;
	if (result == FRAME_TORN)
		return reader->consumed < HEADER_FRAME ? -ENODATA : -EBADMSG;
	records = cursor_make(reader->plain.data, reader->plain.size);
	if (result == FRAME_BAD || !next_payload(&records, &code, &payload) ||
	    code != RECORD_header || codec_decode(reader->codec, RECORD_header, payload, &record) ||
	    record.header.magic.size != strlen(FORMAT_MAGIC) ||
	    memcmp(record.header.magic.data, FORMAT_MAGIC, strlen(FORMAT_MAGIC)))
		return -EBADMSG;
	reader->status.version = record.header.version;
	return record.header.version == FORMAT_NUMBER ? 0 : refuse(&record.header);
}

static int init(struct profile_reader *reader)
{
	reader->zstd = ZSTD_createDCtx();
	reader->codec = calloc(1, sizeof(*reader->codec));
	reader->repeats = calloc(1, sizeof(*reader->repeats));
	reader->chain = chain_create();
	reader->input_data = malloc(INPUT_BYTES);
	if (cpu_shares_create(&reader->cpu))
		return -ENOMEM;
	if (!reader->zstd || !reader->codec || !reader->repeats || !reader->chain ||
	    !reader->input_data)
		return -ENOMEM;
	ZSTD_DCtx_setParameter(reader->zstd, ZSTD_d_windowLogMax, WINDOW_LOG);
	return check_header(reader);
}

int profile_reader_open(struct source *source, struct profile_reader **out)
{
	struct profile_reader *reader = calloc(1, sizeof(*reader));
	int err;

	if (!reader) {
		source->close(source);
		return -ENOMEM;
	}
	reader->source = source;
	err = init(reader);
	if (err)
		profile_reader_close(reader);
	else
		*out = reader;
	return err;
}

void profile_reader_raw(struct profile_reader *reader)
{
	reader->raw = true;
}

void profile_reader_status(const struct profile_reader *reader, struct profile_status *out)
{
	*out = reader->status;
}

void profile_reader_close(struct profile_reader *reader)
{
	if (!reader)
		return;
	reader->source->close(reader->source);
	ZSTD_freeDCtx(reader->zstd);
	cpu_shares_free(reader->cpu);
	buffer_free(&reader->plain);
	free(reader->codec);
	free(reader->repeats);
	chain_free(reader->chain);
	free(reader->input_data);
	free(reader);
}
