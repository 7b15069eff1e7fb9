/* SPDX-License-Identifier: BSD-2-Clause */
/* vmprof_convert.c: converts a VMProf profile to gcprof's format. */
/*
 * VMProf's file is read twice, because the types of samples and their distribution over
 * time follow the samples. Only their order connects allocation samples with objects.
 * VMProf samples in fixed steps and stores no sizes. An object is assumed to have
 * OBJECT_SIZE bytes, so a sample stands for one period of bytes (and half an object more)
 * and for at most that many objects.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../../bpf/events.h"
#include "../../profile/codes.h"
#include "../../profile/writer.h"
#include "../../util/buffer.h"
#include "../../util/map.h"
#include "vmprof.h"

enum {
	OBJECT_SIZE = 16, /* the smallest object of PyPy */
	STATS_MAX = 8,
	OPEN_MAX = 4,
	PROCESS = 1,
	HEAP = 1,
	TAG_CODE = 1,
	TAG_JITTED = 3,
	TAG_ASSEMBLER = 6,
	TAG_NATIVE = 7,
	TAGS,
	DEFAULT_START = 1000000000, /* if the file does not say when it was recorded */
};

/* Numbers for code without a code object: above any address. */
#define PSEUDO_CODE(tag) (UINT64_MAX - (tag))

/* An open collection of the log. */
struct open_gc {
	uint64_t end, cycle, kind;
};

struct convert {
	const struct vmprof_import *import;
	struct vmprof_result *result;
	struct profile_writer *writer;
	int error;
	/* Set by the first pass: */
	uint64_t interval_us, realtime_start, realtime_end, start, period;
	uint64_t n_time_samples, n_stats;
	struct bytes interpreter;
	struct buffer objects; /* uint64_t[]: type << 1 | survived, in the order of the samples */
	/* Set by the second pass: */
	struct map *threads; /* VMProf's number -> id */
	uint64_t n_threads, time_samples, gc_samples, objects_matched;
	uint64_t last_time, rss_bytes, phase, minors, steps;
	size_t log_at;
	struct open_gc open[OPEN_MAX]; /* of the log, innermost last */
	uint32_t n_open;
};

static void vmprof_convert_put(struct convert *convert, const struct record *record)
{
	if (!convert->error)
		convert->error = profile_writer_put(convert->writer, record);
}

#define PUT(convert, record_kind, ...)                                  \
	do {                                                            \
		struct record record_ = {.kind = RECORD_##record_kind,  \
					 .record_kind = {__VA_ARGS__}}; \
		vmprof_convert_put(convert, &record_);                  \
	} while (0)

static struct bytes bytes_of(const char *text)
{
	return (struct bytes){text, strlen(text)};
}

static bool is_text(struct bytes bytes, const char *text)
{
	return bytes.size == strlen(text) && memcmp(bytes.data, text, bytes.size) == 0;
}

static bool has_prefix(struct bytes bytes, const char *prefix)
{
	return bytes.size >= strlen(prefix) && memcmp(bytes.data, prefix, strlen(prefix)) == 0;
}

/* --- first pass --------------------------------------------------------------------------- */

static double number_of(struct bytes bytes)
{
	char text[64] = "";
	double value;

	if (bytes.size < sizeof(text))
		memcpy(text, bytes.data, bytes.size);
	value = strtod(text, NULL);
	return value >= 0 && value < 1e15 ? value : 0;
}

static void learn_meta(struct convert *convert, const struct vmprof_entry *entry)
{
	double value = number_of(entry->text);

	if (is_text(entry->key, "start_time_offset") && value < 1e9)
		convert->start = (uint64_t)(value * 1e9);
	else if (is_text(entry->key, "sample_allocated_bytes"))
		convert->period = (uint64_t)value;
	else if (has_prefix(entry->key, "gc_stats__") && convert->n_stats < STATS_MAX)
		convert->n_stats++;
}

/* Objects are listed in reverse order, followed by the collector's figures. */
static void learn_objects(struct convert *convert, const struct vmprof_entry *entry)
{
	size_t count = entry->n_words > convert->n_stats ? entry->n_words - convert->n_stats : 0;

	while (count-- && !convert->error) {
		uint64_t word = vmprof_word(entry->words, count);
		uint64_t object = word >> 2 << 1 | (word & 1);

		convert->error = buffer_append(&convert->objects, &object, sizeof(object));
	}
}

static int learn(struct convert *convert, const void *data, size_t size)
{
	struct vmprof_reader reader;
	struct vmprof_entry entry;
	int more = vmprof_open(&reader, data, size);

	if (more < 0)
		return more;
	convert->interval_us = reader.interval_us;
	while ((more = vmprof_next(&reader, &entry)) > 0 && !convert->error) {
		if (entry.kind == VMPROF_META)
			learn_meta(convert, &entry);
		else if (entry.kind == VMPROF_TIME)
			convert->realtime_start = entry.realtime;
		else if (entry.kind == VMPROF_HEADER || entry.kind == VMPROF_INTERPRETER)
			convert->interpreter = entry.text;
		else if (entry.kind == VMPROF_TIME_SAMPLE)
			convert->n_time_samples++;
		if (entry.kind == VMPROF_TRAILER) {
			convert->realtime_end = entry.realtime;
			more = 0;
			break;
		}
	}
	convert->result->version = reader.version;
	convert->result->torn = more < 0;
	return convert->error ? convert->error : more == -EPROTO ? more : 0;
}

/* Facts at the end of the file say how many figures follow the objects. */
static int learn_all_objects(struct convert *convert, const void *data, size_t size)
{
	struct vmprof_reader reader;
	struct vmprof_entry entry;
	int more = vmprof_open(&reader, data, size);

	while (!more && !convert->error && vmprof_next(&reader, &entry) > 0 &&
	       entry.kind != VMPROF_TRAILER)
		if (entry.kind == VMPROF_OBJECTS)
			learn_objects(convert, &entry);
	return convert->error;
}

/* --- start of the profile ------------------------------------------------------------------- */

static void place_in_time(struct convert *convert)
{
	uint64_t offset = convert->import->clock_offset;

	if (!convert->start && offset && convert->realtime_start > offset)
		convert->start = convert->realtime_start - offset;
	if (!convert->start)
		convert->start = DEFAULT_START;
	convert->last_time = convert->start;
}

static void put_streams(struct convert *convert)
{
	static const char no_calls[] = "VMProf does not record it";
	bool allocs = convert->period || convert->objects.size;
	bool gcs = allocs || convert->import->log;
	const struct {
		enum stream stream;
		const char *name;
		bool attached;
		const char *why_not;
	} streams[] = {
		{STREAM_ALLOC, "alloc", allocs, "the profile has no allocation samples"},
		{STREAM_GC, "gc", gcs, "the profile has no collections; give PyPy's log"},
		{STREAM_CPU, "cpu", convert->n_time_samples > 0,
		 "the profile has no timer samples"},
		{STREAM_SYSCALL, "syscall", false, no_calls},
		{STREAM_SCHED, "sched", false, no_calls},
		{STREAM_PROCESS, "process", true, ""},
	};

	for (size_t i = 0; i < sizeof(streams) / sizeof(*streams); i++)
		PUT(convert, stream, .stream = streams[i].stream, .name = bytes_of(streams[i].name),
		    .attached = streams[i].attached,
		    .why_not = bytes_of(streams[i].attached ? "" : streams[i].why_not));
}

static void put_head(struct convert *convert)
{
	char tool[64];

	snprintf(tool, sizeof(tool), "VMProf version %u, imported", convert->result->version);
	place_in_time(convert);
	PUT(convert, meta, .key = bytes_of("tool"), .value = bytes_of(tool));
	PUT(convert, meta, .key = bytes_of("imported"), .value = bytes_of(convert->import->name));
	PUT(convert, argument, .text = convert->interpreter);
	PUT(convert, recording, .start = convert->start,
	    .frequency = convert->interval_us && convert->n_time_samples
				 ? 1000000 / convert->interval_us
				 : 0,
	    .period = convert->period);
	if (convert->realtime_start)
		PUT(convert, clock, .before = convert->start, .realtime = convert->realtime_start,
		    .after = convert->start);
	put_streams(convert);
	PUT(convert, process, .id = PROCESS, .time = convert->start);
}

/* --- stacks -------------------------------------------------------------------------------------
 */

static void name_pseudo(struct convert *convert)
{
	static const char *const names[TAGS] = {
		[2] = "(blackhole)", [4] = "(tracing JIT)", [5] = "(garbage collection)"};

	for (uint64_t tag = 0; tag < TAGS; tag++)
		if (names[tag])
			PUT(convert, code, .process = PROCESS, .code = PSEUDO_CODE(tag),
			    .name = profile_writer_string(convert->writer, names[tag],
							  strlen(names[tag])));
}

static uint64_t native_frame(struct convert *convert, uint64_t address)
{
	return profile_writer_native(convert->writer, 0, address);
}

/* The frame of an RPython pair; 0: it has none, such as machine code of a function above. */
static uint64_t rpython_frame(struct convert *convert, uint64_t tag, uint64_t value)
{
	switch (tag) {
	case TAG_CODE:
	case TAG_JITTED:
		return profile_writer_managed(convert->writer, PROCESS, value, 0);
	case TAG_NATIVE:
		return native_frame(convert, value);
	case TAG_ASSEMBLER:
		return 0;
	default:
		return tag < TAGS ? profile_writer_managed(convert->writer, PROCESS,
							   PSEUDO_CODE(tag), 0)
				  : 0;
	}
}

static uint64_t frame_at(struct convert *convert, const struct vmprof_reader *reader,
			 const struct vmprof_entry *entry, size_t index)
{
	uint64_t first = vmprof_word(entry->words, index), second = 0;

	if (reader->rpython || reader->lines)
		second = vmprof_word(entry->words, index + 1);
	if (reader->rpython)
		return rpython_frame(convert, first, second);
	/* The line precedes its function. */
	if (reader->lines)
		return second & 1 ? native_frame(convert, second)
				  : profile_writer_managed(convert->writer, PROCESS, second, first);
	return first & 1 ? native_frame(convert, first)
			 : profile_writer_managed(convert->writer, PROCESS, first, 0);
}

/* A function that continued in compiled code is listed once for each; one frame is enough. */
static uint64_t stack_of(struct convert *convert, const struct vmprof_reader *reader,
			 const struct vmprof_entry *entry)
{
	size_t step = reader->rpython || reader->lines ? 2 : 1, count = entry->n_words / step;
	uint64_t stack = 0, before = 0;
	bool jitted = false;

	/* The innermost come first; very deep stacks lose their outermost frames. */
	if (count > 1000)
		count = 1000;
	while (count--) {
		uint64_t frame = frame_at(convert, reader, entry, count * step);
		bool compiled = reader->rpython &&
				vmprof_word(entry->words, count * step) == TAG_JITTED;

		if (!frame || (frame == before && compiled != jitted))
			continue;
		stack = profile_writer_stack(convert->writer, stack, frame);
		before = frame;
		jitted = compiled;
	}
	return stack;
}

static uint64_t thread_of(struct convert *convert, uint64_t number)
{
	bool added;
	uint64_t *id = map_put(convert->threads, &number, &added);

	if (!id) {
		convert->error = -ENOMEM;
		return 0;
	}
	if (added) {
		*id = ++convert->n_threads;
		PUT(convert, thread, .id = *id, .process = PROCESS, .tid = number);
	}
	return *id;
}

/* --- merging the log's collections ---------------------------------------------------------- */

static void put_gc_end(struct convert *convert, const struct open_gc *open)
{
	PUT(convert, gc_end, .time = open->end, .thread = thread_of(convert, 0), .heap = HEAP,
	    .cycle = open->cycle, .kind = open->kind);
}

/* Ends all collections that end before `time`, innermost first. */
static void end_log_until(struct convert *convert, uint64_t time)
{
	while (convert->n_open && convert->open[convert->n_open - 1].end <= time)
		put_gc_end(convert, &convert->open[--convert->n_open]);
}

static void begin_gc(struct convert *convert, const struct pypylog_gc *gc)
{
	bool minor = gc->section == PYPYLOG_MINOR;
	struct open_gc open = {.end = gc->end,
			       .kind = minor ? GCPROF_GC_MINOR : GCPROF_GC_STEP,
			       .cycle = minor ? ++convert->minors : ++convert->steps};

	end_log_until(convert, gc->begin);
	PUT(convert, gc_begin, .time = gc->begin, .thread = thread_of(convert, 0), .heap = HEAP,
	    .cycle = open.cycle, .kind = open.kind,
	    .reason = minor ? GCPROF_REASON_NURSERY : GCPROF_REASON_THRESHOLD);
	if (convert->n_open < OPEN_MAX)
		convert->open[convert->n_open++] = open;
	else
		put_gc_end(convert, &open);
}

static void put_log_until(struct convert *convert, uint64_t time)
{
	const struct pypylog *log = convert->import->log;

	for (; log && convert->log_at < log->n_gcs; convert->log_at++) {
		const struct pypylog_gc *gc = &log->gcs[convert->log_at];

		if (gc->begin > time)
			break;
		if (gc->end < convert->start)
			convert->result->log_before++;
		else
			begin_gc(convert, gc);
	}
	end_log_until(convert, time);
}

/* --- second pass ---------------------------------------------------------------------------- */

/* Versions without times: samples are spread evenly. */
static uint64_t time_of(struct convert *convert, const struct vmprof_entry *entry)
{
	uint64_t span = convert->realtime_end > convert->realtime_start
				? convert->realtime_end - convert->realtime_start
				: convert->n_time_samples * convert->interval_us * 1000;
	double seconds = entry->seconds;

	if (seconds >= 0 && seconds < 1e9)
		return (uint64_t)(seconds * 1e9);
	if (!convert->n_time_samples || seconds >= 0)
		return convert->last_time;
	return convert->start + (uint64_t)((double)span * (double)convert->time_samples /
					   (double)convert->n_time_samples);
}

static void put_time_sample(struct convert *convert, const struct vmprof_reader *reader,
			    const struct vmprof_entry *entry, uint64_t time)
{
	uint64_t thread = thread_of(convert, entry->thread);

	convert->time_samples++;
	PUT(convert, cpu, .time = time, .thread = thread, .stack = stack_of(convert, reader, entry),
	    .mode = CPU_MODE_USER);
}

static bool object_at(const struct convert *convert, uint64_t index, uint64_t *out)
{
	if (index >= convert->objects.size / sizeof(*out))
		return false;
	memcpy(out, convert->objects.data + index * sizeof(*out), sizeof(*out));
	return true;
}

static void put_gc_sample(struct convert *convert, const struct vmprof_reader *reader,
			  const struct vmprof_entry *entry, uint64_t time)
{
	uint64_t thread = thread_of(convert, entry->thread), object = 0;

	if (!object_at(convert, convert->gc_samples, &object))
		convert->result->unmatched++;
	convert->gc_samples++;
	PUT(convert, alloc, .time = time, .thread = thread,
	    .stack = stack_of(convert, reader, entry), .sample = convert->gc_samples,
	    .type = (object >> 1) + 1, .size = OBJECT_SIZE, .period = convert->period,
	    .kind = GCPROF_SAMPLE_NURSERY);
}

static void put_fates(struct convert *convert, uint64_t count, uint64_t time)
{
	for (uint64_t object; count--; convert->objects_matched++) {
		if (!object_at(convert, convert->objects_matched, &object) ||
		    convert->objects_matched >= convert->gc_samples)
			return;
		PUT(convert, fate, .time = time, .process = PROCESS,
		    .sample = convert->objects_matched + 1,
		    .outcome = object & 1 ? GCPROF_PROMOTED : GCPROF_DIED_YOUNG,
		    .collections = object & 1);
	}
}

/* The figures: memory in use, size of all arenas, phase of the collector. */
static void put_objects(struct convert *convert, const struct vmprof_entry *entry, uint64_t time)
{
	size_t stats = entry->n_words < convert->n_stats ? 0 : convert->n_stats;
	size_t count = entry->n_words - stats;
	uint64_t used = stats > 0 ? vmprof_word(entry->words, count) : 0;
	uint64_t arenas = stats > 1 ? vmprof_word(entry->words, count + 1) : 0;
	uint64_t phase = stats > 2 ? vmprof_word(entry->words, count + 2) + 1 : 0;
	uint64_t thread = thread_of(convert, 0);

	put_fates(convert, count, time);
	/* The start is only in the log; without a log only the end is known. */
	PUT(convert, gc_end, .time = time, .thread = thread, .heap = HEAP,
	    .cycle = convert->import->log ? 0 : ++convert->minors, .kind = GCPROF_GC_MINOR,
	    .has_stats = stats > 0, .live_bytes = used, .arena_bytes = arenas,
	    .phase = phase <= GCPROF_PHASE_FINALIZING ? phase : 0, .rss_bytes = convert->rss_bytes);
	if (phase && phase <= GCPROF_PHASE_FINALIZING && phase != convert->phase) {
		convert->phase = phase;
		PUT(convert, phase, .time = time, .thread = thread, .heap = HEAP, .phase = phase);
	}
}

/* "py:function:line:file", or "n:..." for native code. */
static void vmprof_convert_put_name(struct convert *convert, const struct vmprof_entry *entry)
{
	char text[4096] = "", *language = text, *name, *line, *file;
	size_t size = entry->text.size < sizeof(text) ? entry->text.size : sizeof(text) - 1;
	uint64_t name_id, file_id;

	memcpy(text, entry->text.data, size);
	strsep(&language, ":");
	name = language ? language : text;
	line = strchr(name, ':');
	file = line ? strchr(line + 1, ':') : NULL;
	if (line)
		*line++ = 0;
	if (file)
		*file++ = 0;
	name_id = profile_writer_string(convert->writer, name, strlen(name));
	file_id = file && *file && strcmp(file, "-") != 0
			  ? profile_writer_string(convert->writer, file, strlen(file))
			  : 0;
	if (entry->kind == VMPROF_NATIVE_SYMBOL)
		PUT(convert, symbol, .frame = native_frame(convert, entry->id), .name = name_id,
		    .file = file_id, .line = line ? strtoul(line, NULL, 10) : 0);
	else
		PUT(convert, code, .process = PROCESS, .code = entry->id, .name = name_id,
		    .file = file_id, .line = line ? strtoul(line, NULL, 10) : 0);
}

static void put_type(struct convert *convert, const struct vmprof_entry *entry)
{
	struct bytes key = entry->key;
	char digits[24] = "";

	if (!has_prefix(key, "__rtype_") || key.size - 8 >= sizeof(digits))
		return;
	memcpy(digits, key.data + 8, key.size - 8);
	PUT(convert, type, .process = PROCESS, .type = strtoull(digits, NULL, 10) + 1,
	    .name = profile_writer_string(convert->writer, entry->text.data, entry->text.size));
}

static void put_event(struct convert *convert, const struct vmprof_reader *reader,
		      const struct vmprof_entry *entry)
{
	uint64_t time = time_of(convert, entry);

	put_log_until(convert, time);
	convert->last_time = time > convert->last_time ? time : convert->last_time;
	if (entry->rss_kib && entry->rss_kib < UINT64_MAX >> 10)
		convert->rss_bytes = entry->rss_kib << 10;
	if (entry->kind == VMPROF_TIME_SAMPLE)
		put_time_sample(convert, reader, entry, time);
	else if (entry->kind == VMPROF_GC_SAMPLE)
		put_gc_sample(convert, reader, entry, time);
	else
		put_objects(convert, entry, time);
}

static void put_all(struct convert *convert, const void *data, size_t size)
{
	struct vmprof_reader reader;
	struct vmprof_entry entry;

	if (vmprof_open(&reader, data, size) < 0)
		return;
	while (!convert->error && vmprof_next(&reader, &entry) > 0 &&
	       entry.kind != VMPROF_TRAILER) {
		if (entry.kind == VMPROF_TIME_SAMPLE || entry.kind == VMPROF_GC_SAMPLE ||
		    entry.kind == VMPROF_OBJECTS)
			put_event(convert, &reader, &entry);
		else if (entry.kind == VMPROF_VIRTUAL_IP || entry.kind == VMPROF_NATIVE_SYMBOL)
			vmprof_convert_put_name(convert, &entry);
		else if (entry.kind == VMPROF_META)
			put_type(convert, &entry);
	}
}

static void put_end(struct convert *convert)
{
	uint64_t span = convert->realtime_end > convert->realtime_start
				? convert->realtime_end - convert->realtime_start
				: 0;
	uint64_t end = convert->start + span;

	end = end > convert->last_time ? end : convert->last_time;
	put_log_until(convert, end);
	end_log_until(convert, UINT64_MAX);
	if (convert->import->log)
		convert->result->log_behind = convert->import->log->n_gcs - convert->log_at;
	/* VMProf was switched off while the program continued. */
	if (!convert->result->torn)
		PUT(convert, end, .time = end, .reason = END_DURATION);
}

int vmprof_convert(const void *data, size_t size, const struct vmprof_import *import,
		   struct sink *sink, struct vmprof_result *result)
{
	struct convert convert = {.import = import, .result = result};
	int error, closed;

	*result = (struct vmprof_result){0};
	error = profile_writer_create(sink, &convert.writer);
	if (error)
		return error;
	convert.threads = map_create(sizeof(uint64_t));
	error = convert.threads ? learn(&convert, data, size) : -ENOMEM;
	if (!error)
		error = learn_all_objects(&convert, data, size);
	if (!error) {
		put_head(&convert);
		name_pseudo(&convert);
		put_all(&convert, data, size);
		put_end(&convert);
		error = convert.error;
	}
	result->time_samples = convert.time_samples;
	result->gc_samples = convert.gc_samples;
	closed = profile_writer_close(convert.writer);
	map_free(convert.threads);
	buffer_free(&convert.objects);
	return error ? error : closed;
}
