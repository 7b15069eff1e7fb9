/* SPDX-License-Identifier: BSD-2-Clause */
/* recording_read.h: reads the files of recording_made.h: a line for each timer sample, and sums. */
#ifndef GCPROF_RECORDING_READ_H
#define GCPROF_RECORDING_READ_H

#include "recording_made.h"

struct named_thread {
	uint64_t tid, process;
	char name[32];
};

/* What there is so far in the file that is being read. */
static struct {
	char strings[IDS][64];
	uint64_t modules[IDS]; /* path */
	struct record_native_frame frames[IDS];
	uint64_t names[IDS], n_names[IDS]; /* of a frame: the first */
	struct record_stack stacks[IDS];
	struct record_process processes[IDS];
	struct named_thread threads[IDS];
	uint64_t calls[IDS], call_ns[IDS]; /* by process */
	uint64_t defined[REFS];            /* ids */
	struct record records[IDS];
	size_t n;
} file;

/* A line for each timer sample, and sums over files. */
static struct {
	char lines[1 << 20];
	size_t used;
	uint64_t calls[1000], call_ns[1000]; /* by pid */
} result;

static inline void define_record(const struct record *record)
{
	enum record_ref kind = record_defines(record->kind);
	uint64_t id = record->string.id;

	/* One after the other, so that readers have them in arrays. */
	CHECK_EQ(id, ++file.defined[kind]);
	CHECK(id < IDS);
	switch (record->kind) {
	case RECORD_string:
		snprintf(file.strings[id], 64, "%.*s", (int)record->string.text.size,
			 record->string.text.data);
		break;
	case RECORD_module:
		file.modules[id] = record->module.path;
		break;
	case RECORD_native_frame:
		file.frames[id] = record->native_frame;
		break;
	case RECORD_stack:
		file.stacks[id] = record->stack;
		break;
	case RECORD_process:
		file.processes[id] = record->process;
		break;
	case RECORD_thread:
		file.threads[id].tid = record->thread.tid;
		file.threads[id].process = record->thread.process;
		break;
	default:
		break;
	}
}

/* Everything that a record refers to stands before it. */
static inline void check_references(const struct record *record)
{
	const struct record_info *info = record_info(record->kind);

	for (size_t i = 0; i < info->n_fields; i++) {
		uint64_t id;

		memcpy(&id, (const char *)record + info->fields[i].offset, sizeof(id));
		if (info->fields[i].ref)
			CHECK(id <= file.defined[info->fields[i].ref]);
	}
}

static inline void take(const struct record *record)
{
	check_references(record);
	if (record_defines(record->kind))
		define_record(record);
	if (record->kind == RECORD_symbol && !file.n_names[record->symbol.frame]++)
		file.names[record->symbol.frame] = record->symbol.name;
	if (record->kind == RECORD_comm)
		memcpy(file.threads[record->comm.thread].name, file.strings[record->comm.name], 31);
	if (record->kind == RECORD_syscall_total) {
		file.calls[record->syscall_total.process] += record->syscall_total.count;
		file.call_ns[record->syscall_total.process] += record->syscall_total.total_ns;
	}
	if (!record_defines(record->kind))
		file.records[file.n++] = *record;
}

static inline void read_file(const struct profile_bytes *bytes)
{
	struct profile_reader *reader;
	struct profile_status status;
	struct source *source;
	struct record record;

	memset(&file, 0, sizeof(file));
	CHECK_EQ(source_memory_open(bytes->data, bytes->size, &source), 0);
	CHECK_EQ(profile_reader_open(source, &reader), 0);
	while (profile_reader_next(reader, &record) > 0)
		take(&record);
	profile_reader_status(reader, &status);
	CHECK_EQ(status.state, PROFILE_COMPLETE);
	profile_reader_close(reader);
}

/* The first record of a kind, or NULL. */
static inline const struct record *first(enum record_kind kind)
{
	for (size_t i = 0; i < file.n; i++)
		if (file.records[i].kind == kind)
			return &file.records[i];
	return NULL;
}

static inline size_t count(enum record_kind kind)
{
	size_t n = 0;

	for (size_t i = 0; i < file.n; i++)
		n += file.records[i].kind == kind;
	return n;
}

/* The sample with everything that it refers to looked up; names as of the end of the file. */
static inline void add_line(const struct record_cpu *cpu, bool names)
{
	const struct named_thread *thread = &file.threads[cpu->thread];
	char *at = result.lines + result.used;
	size_t room = sizeof(result.lines) - result.used, n;

	n = (size_t)snprintf(at, room, "%" PRIu64 " %" PRIu64 " %" PRIu64, cpu->time,
			     file.processes[thread->process].pid, thread->tid);
	for (uint64_t id = cpu->stack; id; id = file.stacks[id].parent) {
		const struct record_native_frame *frame = &file.frames[file.stacks[id].frame];

		n += (size_t)snprintf(at + n, room - n, " %s+%" PRIu64,
				      file.strings[file.modules[frame->module]], frame->offset);
		if (!names || !file.names[frame->id])
			continue;
		CHECK_EQ(file.n_names[frame->id], 2);
		n += (size_t)snprintf(at + n, room - n, "=%s", file.strings[file.names[frame->id]]);
	}
	n += (size_t)snprintf(at + n, room - n, "\n");
	CHECK(n < room);
	result.used += n;
}

static inline void add_file(const struct profile_bytes *bytes, bool names)
{
	read_file(bytes);
	for (size_t i = 0; i < file.n; i++)
		if (file.records[i].kind == RECORD_cpu)
			add_line(&file.records[i].cpu, names);
	for (uint64_t i = 1; i <= file.defined[REF_process]; i++) {
		result.calls[file.processes[i].pid] += file.calls[i];
		result.call_ns[file.processes[i].pid] += file.call_ns[i];
	}
}

#endif
