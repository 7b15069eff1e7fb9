// SPDX-License-Identifier: BSD-2-Clause
/* carry.c: carries definitions of a recording from one file to the next. */
/*
 * Definitions are kept with the ids of the recording. A definition is written when a record of this
 * file first refers to it, after the definitions that it refers to and before its notes (names,
 * mappings, a collection in progress). The table of rules says what happens to each kind of record
 * and which definition owns it as a note.
 */
#include <errno.h>
#include <stdlib.h>

#include "carry.h"
#include "carry_parts.h"
#include "../../bpf/events.h"

/* Maximum bytes of definitions, by kind: twice what the writer remembers, so that everything it
 * still refers to is kept. Processes and threads are dropped after they have ended. */
static const size_t limits[REFS] = {
	[REF_none] = SIZE_MAX,    [REF_string] = 24 << 20, [REF_module] = 16 << 20,
	[REF_process] = SIZE_MAX, [REF_thread] = SIZE_MAX, [REF_frame] = 64 << 20,
};

#define ENDED_NS UINT64_C(10000000000) /* records of a thread may arrive so late after its end */

static uint64_t *carry_field(struct record *record, const struct field_info *info)
{
	return (uint64_t *)(void *)((char *)record + info->offset);
}

/* --- things ---------------------------------------------------------------------------------- */

static void thing_drop(struct carry *carry, struct thing *thing)
{
	notes_drop(carry, thing, 0);
	carry->bytes[thing->kind] -= sizeof(*thing) + thing->size;
	map_remove(carry->things[thing->kind], &thing->id);
	free(thing);
}

/* Ids are assigned in ascending order. */
static void drop_older(struct carry *carry, enum record_ref kind, uint64_t id)
{
	while (carry->bytes[kind] > limits[kind] && carry->oldest[kind] < id) {
		struct thing *oldest = carry_find(carry, kind, carry->oldest[kind]++);

		if (oldest)
			thing_drop(carry, oldest);
	}
}

static struct thing *thing_make(struct carry *carry, enum record_ref kind, uint64_t id,
				const struct buffer *packed)
{
	struct thing *thing = calloc(1, sizeof(*thing) + packed->size);
	uint64_t *place = thing ? map_put(carry->things[kind], &id, NULL) : NULL;

	if (!place || *place) {
		free(thing);
		return NULL;
	}
	*place = (uintptr_t)thing;
	thing->id = id;
	thing->kind = kind;
	thing->size = packed->size;
	if (packed->size)
		memcpy(thing->packed, packed->data, packed->size);
	carry->bytes[kind] += sizeof(*thing) + packed->size;
	drop_older(carry, kind, id);
	return thing;
}

static struct stack_row *stack_row(const struct carry *carry, uint64_t id)
{
	return &carry->stacks[id % STACK_ROWS];
}

static int keep(struct carry *carry, const struct record *record)
{
	enum record_ref kind = record_defines(record->kind);
	uint64_t id = record->string.id; /* the first field of all of these */
	struct thing *thing;
	int err;

	if (kind == REF_stack) {
		*stack_row(carry, id) = (struct stack_row){
			.id = id, .parent = record->stack.parent, .frame = record->stack.frame};
		return 0;
	}
	err = codec_pack(&carry->codec, record, &carry->packed);
	if (err || carry_find(carry, kind, id))
		return err;
	thing = thing_make(carry, kind, id, &carry->packed);
	if (!thing)
		return -ENOMEM;
	if (record->kind == RECORD_thread)
		thing->process = record->thread.process;
	return 0;
}

/* --- writing --------------------------------------------------------------------------------- */

static int define(struct carry *carry, struct thing *thing);
static int localize_stack(struct carry *carry, uint64_t id, uint64_t *local);

/* Gets the id in this file and defines it there if necessary; 0: it was forgotten. */
static int localize(struct carry *carry, enum record_ref kind, uint64_t id, uint64_t *local)
{
	struct thing *thing = id ? carry_find(carry, kind, id) : NULL;
	int err = thing && thing->file != carry->file ? define(carry, thing) : 0;

	*local = thing ? thing->local : 0;
	return err;
}

/* Replaces ids in the record by those of this file. -ENOENT: some are unknown. */
static int translate(struct carry *carry, struct record *record)
{
	const struct record_info *info = record_info(record->kind);
	bool missing = false;

	for (size_t i = 0; i < info->n_fields; i++) {
		uint64_t *value = carry_field(record, &info->fields[i]), id;
		int err;

		if (info->fields[i].ref == REF_none)
			continue;
		id = *value;
		err = info->fields[i].ref == REF_stack
			      ? localize_stack(carry, id, value)
			      : localize(carry, info->fields[i].ref, id, value);
		if (err)
			return err;
		missing |= id && !*value;
	}
	return missing ? -ENOENT : 0;
}

/* Whether a record is useful although some of its references are unknown. Events of unknown threads
 * are not; a process with a forgotten parent is. */
static bool stands_alone(const struct record *record)
{
	switch (record_defines(record->kind)) {
	case REF_process:
		return true;
	case REF_none:
		break;
	default:
		return false;
	}
	for (size_t i = 0; i < record_info(record->kind)->n_fields; i++) {
		const struct field_info *info = &record_info(record->kind)->fields[i];

		if ((info->ref == REF_thread || info->ref == REF_process) &&
		    !carry_at(record, info->offset))
			return false;
	}
	return true;
}

/* 0; -ENOENT: the record was omitted; or an error. */
static int write_record(struct carry *carry, struct record record)
{
	int err = translate(carry, &record);

	if (err == -ENOENT && stands_alone(&record))
		err = 0;
	return err ? err : carry->write(carry->context, &record);
}

static void set_begin(const struct carry *carry, struct record *record)
{
	const struct record_info *info = record_info(record->kind);

	for (size_t i = 0; i < info->n_fields; i++)
		if (strcmp(info->fields[i].name, "time") == 0 &&
		    *carry_field(record, &info->fields[i]) < carry->begin)
			*carry_field(record, &info->fields[i]) = carry->begin;
}

/* Shortens the window to its last nanosecond, which marks the start of the untraced time. The rest
 * of the window is in the previous file. */
static void shorten_window(const struct carry *carry, struct record_call_window *window)
{
	if (window->end < carry->begin)
		window->end = carry->begin;
	window->begin = window->end - 1;
}

/* An exec named the thread after the file: writes this name. */
static int write_name(struct carry *carry, const struct record_exec *exec)
{
	const struct thing *path = carry_find(carry, REF_string, exec->path);
	struct record string, comm = {.kind = RECORD_comm, .comm = {.time = carry->begin}};
	struct bytes *text = &string.string.text;
	int err = path ? codec_unpack(&carry->codec, path->packed, path->size, &string) : -ENOENT;
	const char *slash = err ? NULL : memrchr(text->data, '/', text->size);

	err = err ? err : localize(carry, REF_thread, exec->thread, &comm.comm.thread);
	if (err)
		return err;
	if (slash)
		*text = (struct bytes){slash + 1, text->size - (size_t)(slash + 1 - text->data)};
	string.string.id = comm.comm.name = ++carry->last_local[REF_string];
	err = carry->write(carry->context, &string);
	return err ? err : carry->write(carry->context, &comm);
}

/* Repeats the notes of `owner` in this file. */
static int write_notes(struct carry *carry, const struct thing *owner)
{
	struct record record;
	int err = 0;

	for (const struct note *note = owner->first; note && !err; note = note->next) {
		err = codec_unpack(&carry->codec, note->last.data, note->last.size, &record);
		if (carry_rules[note->kind].at_begin)
			set_begin(carry, &record);
		if (record.kind == RECORD_call_window)
			shorten_window(carry, &record.call_window);
		if (record.kind == RECORD_recording) {
			record.recording.start = carry->begin;
			record.recording.part = carry->part;
		}
		if (!err && note->kind == RECORD_exec)
			err = write_name(carry, &record.exec);
		else
			err = err ? err : write_record(carry, record);
		err = err == -ENOENT ? 0 : err;
	}
	return err;
}

static int define(struct carry *carry, struct thing *thing)
{
	struct record record;
	uint64_t *common;
	int err = codec_unpack(&carry->codec, thing->packed, thing->size, &record);

	thing->local = 0;
	/* Set early, in case a damaged parent chain is a cycle. Writing the notes of a process may
	 * also define a thread. */
	if (thing->kind == REF_process)
		thing->file = carry->file;
	err = err ? err : translate(carry, &record);
	if (thing->file == carry->file && thing->local)
		return 0;
	thing->file = carry->file;
	if (err == -ENOENT && !stands_alone(&record))
		return 0;
	if (err && err != -ENOENT)
		return err;
	if (thing->kind == REF_process)
		set_begin(carry, &record);
	record.string.id = thing->local = ++carry->last_local[thing->kind];
	common = record_common(&record);
	if (common)
		*common = thing->id;
	err = carry->write(carry->context, &record);
	return err ? err : write_notes(carry, thing);
}

/* Like localize(); a stack with an unknown frame or caller is unknown. */
static int localize_stack(struct carry *carry, uint64_t id, uint64_t *local)
{
	struct stack_row *row = stack_row(carry, id);
	struct record record = {.kind = RECORD_stack, .stack = {0, row->parent, row->frame}};
	int err = 0;

	*local = 0;
	if (!id || row->id != id)
		return 0;
	if (row->file != carry->file) {
		err = translate(carry, &record);
		row->file = carry->file;
		row->local = err ? 0 : (uint32_t)++carry->last_local[REF_stack];
		record.stack.id = row->local;
		err = err == -ENOENT ? 0 : err ? err : carry->write(carry->context, &record);
	}
	*local = row->local;
	return err;
}

/* --- records --------------------------------------------------------------------------------- */

/* Whether the definition is in this file, so that a name can follow it. */
static bool is_defined(const struct carry *carry, const struct thing *thing)
{
	return thing->file == carry->file && thing->local;
}

static int put_note(struct carry *carry, const struct record *record)
{
	const struct rule *rule = &carry_rules[record->kind];
	struct thing *owner = carry_owner(carry, record);
	struct note *note;
	int err = 0;

	if (!owner)
		return -ENOENT;
	/* Write it before noting it: otherwise it could be written again with its owner's notes. */
	if (rule->action != ACTION_NAME || is_defined(carry, owner))
		err = write_record(carry, *record);
	if (err)
		return err;
	if (rule->action != ACTION_CLOSE)
		return note_put(carry, owner, record, carry_key(record, owner));
	note = note_find(carry, owner, RECORD_gc_begin, carry_key(record, owner));
	if (note)
		note_drop(carry, owner, note);
	return 0;
}

/* An exec drops mappings and number names of the old program and names the thread after the new
 * one.
 */
static int note_exec(struct carry *carry, const struct record *record)
{
	static const enum record_kind kinds[] = {RECORD_mmap, RECORD_runtime, RECORD_gc_name,
						 RECORD_gc_begin};
	struct thing *thread = carry_find(carry, REF_thread, record->exec.thread);
	struct thing *process = thread ? carry_find(carry, REF_process, thread->process) : NULL;

	for (size_t i = 0; process && i < sizeof(kinds) / sizeof(*kinds); i++)
		notes_drop(carry, process, kinds[i]);
	if (!thread)
		return 0;
	notes_drop(carry, thread, RECORD_comm);
	return note_put(carry, thread, record, 0);
}

/* A new thread inherits its creator's name, from the last comm or exec. */
static int note_fork(struct carry *carry, const struct record_fork *fork)
{
	static const enum record_kind kinds[] = {RECORD_comm, RECORD_exec};
	const struct thing *maker = carry_find(carry, REF_thread, fork->thread);
	struct thing *child = carry_find(carry, REF_thread, fork->child);
	struct record record;
	int err = 0;

	for (size_t i = 0; maker && child && !err && i < sizeof(kinds) / sizeof(*kinds); i++) {
		const struct note *name = note_find(carry, maker, kinds[i], 0);

		if (!name)
			continue;
		err = codec_unpack(&carry->codec, name->last.data, name->last.size, &record);
		*(kinds[i] == RECORD_comm ? &record.comm.thread : &record.exec.thread) =
			fork->child;
		err = err ? err : note_put(carry, child, &record, 0);
	}
	return err;
}

static void note_comm(struct carry *carry, const struct record_comm *comm)
{
	struct thing *thread = carry_find(carry, REF_thread, comm->thread);

	if (thread)
		notes_drop(carry, thread, RECORD_exec);
}

/* Drops threads and processes that ended long before `time`. */
static void drop_ended(struct carry *carry, uint64_t time)
{
	const struct ending *endings = (const void *)carry->endings.data;
	size_t count = carry->endings.size / sizeof(*endings);

	while (carry->forgotten < count && endings[carry->forgotten].time + ENDED_NS < time)
		thing_drop(carry, endings[carry->forgotten++].thing);
	if (carry->forgotten < count / 2)
		return;
	carry->endings.size = (count - carry->forgotten) * sizeof(*endings);
	memmove(carry->endings.data, endings + carry->forgotten, carry->endings.size);
	carry->forgotten = 0;
}

static int note_end(struct carry *carry, struct thing *thing, uint64_t time)
{
	const struct ending ending = {time, thing};

	if (!thing || thing->ended)
		return 0;
	thing->ended = true;
	return buffer_append(&carry->endings, &ending, sizeof(ending));
}

static int note_exit(struct carry *carry, const struct record_exit *record)
{
	struct thing *thread = carry_find(carry, REF_thread, record->thread), *process;
	int err = note_end(carry, thread, record->time);

	process = thread && record->last ? carry_find(carry, REF_process, thread->process) : NULL;
	err = err ? err : note_end(carry, process, record->time);
	drop_ended(carry, record->time);
	return err;
}

/* Updates notes made by other records. */
static int note_change(struct carry *carry, const struct record *record)
{
	switch (record->kind) {
	case RECORD_fork:
		return note_fork(carry, &record->fork);
	case RECORD_exec:
		return note_exec(carry, record);
	case RECORD_exit:
		return note_exit(carry, &record->exit);
	default:
		return 0;
	}
}

int carry_put(struct carry *carry, const struct record *record)
{
	int err;

	switch (carry_rules[record->kind].action) {
	case ACTION_DEFINE:
		return keep(carry, record);
	case ACTION_WRITE:
		err = write_record(carry, *record);
		return err ? err : note_change(carry, record);
	default:
		if (record->kind == RECORD_comm)
			note_comm(carry, &record->comm);
		return put_note(carry, record);
	}
}

int carry_thread(struct carry *carry, uint64_t thread, uint64_t *id)
{
	int err = localize(carry, REF_thread, thread, id);

	return err || *id ? err : -ENOENT;
}

/* --- files ----------------------------------------------------------------------------------- */

void carry_redirect(struct carry *carry, carry_write *write, void *context)
{
	carry->write = write;
	carry->context = context;
}

int carry_begin(struct carry *carry, uint64_t time, uint64_t part)
{
	carry->file++;
	carry->begin = time;
	carry->part = part;
	memset(carry->last_local, 0, sizeof(carry->last_local));
	return write_notes(carry, carry->recording);
}

int carry_create(carry_write *write, void *context, struct carry **out)
{
	const struct buffer nothing = {0};
	struct carry *carry = calloc(1, sizeof(*carry));
	bool complete = carry;

	for (int kind = 0; carry && kind < REFS; kind++) {
		carry->things[kind] = map_create(sizeof(uint64_t));
		complete &= carry->things[kind] != NULL;
	}
	if (complete) {
		carry->write = write;
		carry->context = context;
		carry->file = 1;
		carry->notes = map_create(sizeof(struct note_key));
		carry->stacks = calloc(STACK_ROWS, sizeof(*carry->stacks));
		carry->recording = thing_make(carry, REF_none, 0, &nothing);
	}
	if (!complete || !carry->notes || !carry->stacks || !carry->recording) {
		carry_free(carry);
		return -ENOMEM;
	}
	*out = carry;
	return 0;
}

static void release_note(void *value)
{
	struct note *note = value;

	buffer_free(&note->last);
	free(note);
}

void carry_free(struct carry *carry)
{
	if (!carry)
		return;
	map_free_all(carry->notes, release_note);
	for (int kind = 0; kind < REFS; kind++)
		map_free_all(carry->things[kind], free);
	free(carry->stacks);
	buffer_free(&carry->endings);
	buffer_free(&carry->packed);
	free(carry);
}
