/* SPDX-License-Identifier: BSD-2-Clause */
/* store_rig.h: events made by hand, a store to send them to, and what came of them. */
#ifndef GCPROF_STORE_RIG_H
#define GCPROF_STORE_RIG_H

#include <errno.h>
#include <sys/mman.h>

#include "test.h"
#include "profile/reader.h"
#include "profile/writer.h"
#include "record/world/files.h"
#include "record/store/store.h"
#include "reader/worker.h"

/* A file need not use all of it. */
#define RIG static __attribute__((unused))

struct rig {
	struct profile_writer *writer;
	struct opener *opener;
	struct files *files;
	struct processes *processes;
	struct store *store;
	char *data;
	size_t size;
	uint64_t clock;
	uint64_t room[4096];
};

static struct rig rig;
/* What was read back; all texts are looked up. */
struct seen {
	struct record records[4096];
	size_t n;
	char strings[512][64];
	struct record_native_frame natives[512]; /* by frame id, as are the next */
	struct record_managed_frame manageds[512];
	struct record_kernel_frame kernels[512];
	struct record_stack stacks[512];
	struct record_module modules[64];
	unsigned char build_ids[64][64];
};

static struct seen seen;

RIG void begin(void)
{
	struct sink *sink;

	memset(&rig, 0, sizeof(rig));
	rig.clock = 1000;
	CHECK_EQ(sink_memory_create(&rig.data, &rig.size, &sink), 0);
	CHECK_EQ(profile_writer_create(sink, &rig.writer), 0);
	CHECK_EQ(opener_create(true, &rig.opener), 0);
	CHECK_EQ(files_create(rig.opener, &rig.files), 0);
	CHECK_EQ(processes_create(rig.writer, &rig.processes), 0);
	CHECK_EQ(store_create(rig.writer, rig.files, rig.processes, &rig.store), 0);
	CHECK_EQ(store_add_process(rig.store, 1, 100, 100, 1000), 0);
}

static inline void keep(struct record *record)
{
	const uint64_t kept = UINT64_C(1) << RECORD_string | UINT64_C(1) << RECORD_native_frame |
			      UINT64_C(1) << RECORD_managed_frame |
			      UINT64_C(1) << RECORD_kernel_frame | UINT64_C(1) << RECORD_stack;
	uint64_t id = record->string.id; /* the first field of all of these */

	CHECK(!(kept >> record->kind & 1) || id < 512);
	switch (record->kind) {
	case RECORD_string:
		snprintf(seen.strings[id], 64, "%.*s", (int)record->string.text.size,
			 record->string.text.data);
		break;
	case RECORD_module:
		CHECK(id < 64 && record->module.build_id.size <= 64);
		if (record->module.build_id.size)
			memcpy(seen.build_ids[id], record->module.build_id.data,
			       record->module.build_id.size);
		seen.modules[id] = record->module;
		break;
	case RECORD_native_frame:
		seen.natives[id] = record->native_frame;
		break;
	case RECORD_managed_frame:
		seen.manageds[id] = record->managed_frame;
		break;
	case RECORD_kernel_frame:
		seen.kernels[id] = record->kernel_frame;
		break;
	case RECORD_stack:
		seen.stacks[id] = record->stack;
		break;
	default:
		break;
	}
	CHECK(seen.n < 4096);
	seen.records[seen.n++] = *record;
}

/* Ends the recording and reads it back. */
RIG void finish(void)
{
	struct profile_reader *reader;
	struct source *source;
	struct record record;

	store_free(rig.store);
	processes_free(rig.processes);
	files_free(rig.files);
	opener_free(rig.opener);
	CHECK_EQ(profile_writer_close(rig.writer), 0);
	memset(&seen, 0, sizeof(seen));
	CHECK_EQ(source_memory_open(rig.data, rig.size, &source), 0);
	CHECK_EQ(profile_reader_open(source, &reader), 0);
	while (profile_reader_next(reader, &record) > 0)
		keep(&record);
	profile_reader_close(reader);
	free(rig.data);
}

/* The i-th record of a kind, NULL behind the last. */
RIG const struct record *nth(enum record_kind kind, size_t i)
{
	for (size_t at = 0; at < seen.n; at++) {
		if (seen.records[at].kind == kind && i-- == 0)
			return &seen.records[at];
	}
	return NULL;
}

RIG size_t count(enum record_kind kind)
{
	size_t n = 0;

	for (size_t at = 0; at < seen.n; at++)
		n += seen.records[at].kind == kind;
	return n;
}

/* A stack as one text, outermost first: m1:1fff (module:offset) c7@3 (code@line) k:ff. */
RIG const char *stack_text(uint64_t stack)
{
	static char text[4096];
	uint64_t frames[512] = {0};
	size_t n = 0, at = 0;

	for (; stack; stack = seen.stacks[stack].parent)
		frames[n++] = seen.stacks[stack].frame;
	text[0] = 0;
	while (n-- > 0) {
		uint64_t frame = frames[n];
		const char *space = at ? " " : "";

		if (seen.natives[frame].id)
			at += (size_t)snprintf(
				text + at, sizeof(text) - at, "%sm%" PRIu64 ":%" PRIx64, space,
				seen.natives[frame].module, seen.natives[frame].offset);
		else if (seen.manageds[frame].id)
			at += (size_t)snprintf(
				text + at, sizeof(text) - at, "%sc%" PRIu64 "@%" PRIu64, space,
				seen.manageds[frame].code, seen.manageds[frame].line);
		else
			at += (size_t)snprintf(text + at, sizeof(text) - at, "%sk%" PRIu64, space,
					       seen.kernels[frame].id);
	}
	return text;
}

/* Begins an event of this code and size in the rig's room. */
static inline void *event(uint16_t code, size_t size, uint32_t process, uint32_t pid)
{
	struct event_header *header = (void *)rig.room;

	CHECK(size <= sizeof(rig.room));
	memset(rig.room, 0, sizeof(rig.room));
	*header = (struct event_header){.size = (uint32_t)((size + 7) & ~(size_t)7),
					.code = code,
					.time = ++rig.clock,
					.pid = pid,
					.tid = pid,
					.process = process};
	return header;
}

/* A copy of just its size, so that a read behind the end is caught. */
static inline int send_event(void)
{
	const struct event_header *header = (void *)rig.room;
	size_t size = header->size < sizeof(rig.room) ? header->size : sizeof(rig.room);
	void *copy = malloc(size < sizeof(*header) ? sizeof(*header) : size);
	int err;

	memcpy(copy, rig.room, size < sizeof(*header) ? sizeof(*header) : size);
	/* With a stack dump it waits for the reader that walks it. */
	while ((err = store_event(rig.store, copy)) == -EAGAIN)
		worker_wait_any(10);
	free(copy);
	return err;
}

RIG void send_mmap(uint32_t process, uint64_t address, uint64_t length, uint64_t offset,
		   const char *path)
{
	size_t size = sizeof(struct event_mmap) + strlen(path);
	struct event_mmap *mmap = event(EVENT_mmap, size, process, process * 100);

	mmap->address = address;
	mmap->length = length;
	mmap->offset = offset;
	mmap->inode = path[0] == '/' && path[1] != '/';
	mmap->protection = PROT_READ | PROT_EXEC;
	mmap->name_size = (uint32_t)strlen(path);
	memcpy(mmap + 1, path, strlen(path));
	CHECK_EQ(send_event(), 0);
}

struct stack_input {
	size_t n_kernel, n_user, n_managed;
	uint64_t kernel[8];
	struct event_native user[8];
	struct event_managed managed[8];
	uint16_t quality; /* besides STACK_USER_CUT */
};

RIG void send_cpu(uint32_t process, uint32_t pid, const struct stack_input *in)
{
	struct event_cpu *cpu = event(
		EVENT_cpu, sizeof(*cpu) + in->n_kernel * 8 + (in->n_user + in->n_managed) * 16,
		process, pid);
	char *at = (char *)(cpu + 1);

	cpu->stack = (struct event_stack){(uint16_t)in->n_kernel, (uint16_t)in->n_user,
					  (uint16_t)in->n_managed, STACK_USER_CUT | in->quality};
	cpu->mode = CPU_MODE_USER;
	memcpy(at, in->kernel, in->n_kernel * 8);
	at += in->n_kernel * 8;
	memcpy(at, in->user, in->n_user * 16);
	at += in->n_user * 16;
	memcpy(at, in->managed, in->n_managed * 16);
	CHECK_EQ(send_event(), 0);
}

RIG void send_ip(uint32_t process, uint32_t pid, uint64_t ip)
{
	struct stack_input in = {.n_user = 1, .user = {{ip, 0}}};

	send_cpu(process, pid, &in);
}

RIG void send_fork(uint32_t process, uint32_t pid, uint32_t child, uint32_t child_pid)
{
	struct event_fork *fork = event(EVENT_fork, sizeof(*fork), process, pid);

	fork->child_pid = fork->child_tid = child_pid;
	fork->child_process = child;
	fork->kind = child == process ? FORK_THREAD : FORK_PROCESS;
	CHECK_EQ(send_event(), 0);
}

RIG void send_exec(uint32_t process, uint32_t pid, const char *path)
{
	struct event_exec *exec = event(EVENT_exec, sizeof(*exec) + strlen(path), process, pid);

	exec->old_tid = pid;
	exec->name_size = (uint32_t)strlen(path);
	memcpy(exec + 1, path, strlen(path));
	CHECK_EQ(send_event(), 0);
}

RIG void send_exit(uint32_t process, uint32_t pid, uint32_t tid, uint32_t last)
{
	struct event_exit *exit = event(EVENT_exit, sizeof(*exit), process, pid);

	exit->header.tid = tid;
	exit->last = last;
	CHECK_EQ(send_event(), 0);
}

RIG struct event_name *name_event(uint32_t process, enum gcprof_name_kind kind, uint64_t number,
				  const char *name, const char *file)
{
	size_t padded = (strlen(name) + 7) & ~(size_t)7;
	struct event_name *named =
		event(EVENT_name, sizeof(*named) + padded + strlen(file), process, process * 100);

	named->kind = kind;
	named->number = number;
	named->name_size = (uint16_t)strlen(name);
	named->file_size = (uint16_t)strlen(file);
	memcpy(named + 1, name, strlen(name));
	memcpy((char *)(named + 1) + padded, file, strlen(file));
	return named;
}

RIG void send_type(uint32_t process, uint64_t number, const char *name)
{
	name_event(process, GCPROF_NAME_TYPE, number, name, "");
	CHECK_EQ(send_event(), 0);
}

RIG void send_code(uint32_t process, uint64_t number, const char *name, const char *file)
{
	name_event(process, GCPROF_NAME_CODE, number, name, file)->line = 10;
	CHECK_EQ(send_event(), 0);
}

RIG void send_alloc(uint32_t process, uint32_t pid, uint64_t sample, uint64_t type)
{
	struct event_alloc *alloc = event(EVENT_alloc, sizeof(*alloc), process, pid);

	alloc->sample = sample;
	alloc->type = type;
	alloc->bytes = 32;
	alloc->period = 4096;
	alloc->kind = GCPROF_SAMPLE_NURSERY;
	CHECK_EQ(send_event(), 0);
}

#endif
