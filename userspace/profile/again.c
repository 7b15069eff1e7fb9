// SPDX-License-Identifier: BSD-2-Clause
/* again.c: makes each segment of a recording complete: it defines again what it uses. */
/*
 * Each definition knows the last segment that has it. A record that refers to one of an earlier
 * segment is preceded by the definition, by those that this refers to, and by its notes: names,
 * mappings, collections in progress. Types and managed functions are many and belong to a process;
 * they are repeated when a sample or a frame uses them. The table of rules says what happens to
 * each kind of record.
 */
#include <errno.h>
#include <stdlib.h>

#include "again.h"
#include "again_parts.h"

/* Maximum bytes of definitions, by kind: more than the writer remembers, so that everything it
 * still refers to is kept. Processes and threads are dropped after they have ended. */
static const size_t limits[REFS] = {
	[REF_none] = SIZE_MAX,    [REF_string] = 24 << 20, [REF_module] = 16 << 20,
	[REF_process] = SIZE_MAX, [REF_thread] = SIZE_MAX, [REF_frame] = 64 << 20,
};

#define ENDED_NS UINT64_C(10000000000) /* records of a thread may arrive so late after its end */

enum { GROUP_BYTES = 64 * 1024 /* of an `again` record: about */ };

/* --- things ---------------------------------------------------------------------------------- */

static void thing_drop(struct again *again, struct thing *thing)
{
	again_notes_drop(again, thing, 0);
	again_leave(again, thing->packed, thing->size);
	again_unlink(again, thing);
	map_remove(again->things[thing->kind], &thing->id);
	free(thing);
}

static void drop_older(struct again *again, const struct thing *than)
{
	struct thing *thing;

	while ((thing = again_excess(again, than->kind, limits[than->kind])) && thing != than)
		thing_drop(again, thing);
}

static struct thing *thing_make(struct again *again, enum record_ref kind, uint64_t id,
				const struct buffer *packed)
{
	struct thing *thing = calloc(1, sizeof(*thing) + packed->size);
	uint64_t *place = thing ? map_put(again->things[kind], &id, NULL) : NULL;

	if (!place || *place) {
		free(thing);
		return NULL;
	}
	*place = (uintptr_t)thing;
	thing->id = id;
	thing->kind = kind;
	thing->segment = again->segment;
	thing->size = packed->size;
	if (packed->size)
		memcpy(thing->packed, packed->data, packed->size);
	again_link(again, thing);
	drop_older(again, thing);
	return thing;
}

static struct stack_row *stack_row(const struct again *again, uint64_t id)
{
	return &again->stacks[id % STACK_ROWS];
}

bool again_stack(const struct again *again, uint64_t *stack, uint64_t *frame)
{
	const struct stack_row *row = stack_row(again, *stack);

	if (row->id != *stack)
		return false;
	*stack = row->parent;
	*frame = row->frame;
	return true;
}

static int keep(struct again *again, const struct record *record)
{
	enum record_ref kind = record_defines(record->kind);
	uint64_t id = record->string.id; /* the first field of all of these */
	struct thing *thing;
	int err;

	if (kind == REF_stack) {
		*stack_row(again, id) = (struct stack_row){id, record->stack.parent,
							   record->stack.frame, again->segment};
		return 0;
	}
	err = codec_pack(&again->codec, record, &again->packed);
	if (err || again_find(again, kind, id))
		return err;
	thing = thing_make(again, kind, id, &again->packed);
	if (!thing)
		return -ENOMEM;
	again_use(again, record, true);
	if (record->kind == RECORD_thread)
		thing->process = record->thread.process;
	return 0;
}

/* --- repeating ------------------------------------------------------------------------------- */

static int write_record(struct again *again, const struct record *record)
{
	return again->write(again->context, record);
}

static int end_group(struct again *again)
{
	const struct record record = {
		.kind = RECORD_again,
		.again = {again->segment - again->group_last,
			  {again->group.data, again->group.size}},
	};
	int err = again->group.size ? write_record(again, &record) : 0;

	again->repeated += again->group.size;
	again->group.size = 0;
	return err;
}

/* Repeats a record that was last in segment `last`. */
static int repeat(struct again *again, const struct record *record, uint32_t last)
{
	int err = 0;

	if (again->group_last != last || again->group.size > GROUP_BYTES)
		err = end_group(again);
	if (!again->group.size) {
		codec_reset(&again->group_codec, again->begin);
		again->group_last = last;
	}
	return err ? err : codec_encode(&again->group_codec, record, &again->group);
}

static int refer(struct again *again, const struct record *record);

static void set_begin(const struct again *again, struct record *record)
{
	uint64_t *time = &record->comm.time; /* the first field of all of these */

	if (*time < again->begin)
		*time = again->begin;
}

/* Shortens the window to its last nanosecond, which marks the start of the untraced time. */
static void shorten_window(const struct again *again, struct record_call_window *window)
{
	if (window->end < again->begin)
		window->end = again->begin;
	window->begin = window->end - 1;
}

static int repeat_note(struct again *again, const struct note *note, uint32_t last)
{
	struct record record;
	int err = codec_unpack(&again->codec, note->packed, note->size, &record);

	if (again_rules[note->kind].at_begin)
		set_begin(again, &record);
	if (record.kind == RECORD_call_window)
		shorten_window(again, &record.call_window);
	err = err ? err : refer(again, &record);
	return err ? err : repeat(again, &record, last);
}

/* Repeats the name of a type or managed function. */
static int use_name(struct again *again, uint64_t process, enum record_kind kind, uint64_t number)
{
	const struct thing *owner = again_find(again, REF_process, process);
	struct note *note = owner ? again_note_find(again, owner, kind, number) : NULL;
	uint32_t last;

	if (!note || note->segment == again->segment)
		return 0;
	last = note->segment;
	note->segment = again->segment;
	return repeat_note(again, note, last);
}

static int repeat_thing(struct again *again, struct thing *thing)
{
	const uint32_t last = thing->segment;
	struct record record;
	int err = codec_unpack(&again->codec, thing->packed, thing->size, &record);

	/* The notes of a process refer to it; they may also define the thing itself. */
	if (thing->kind == REF_process)
		thing->segment = again->segment;
	err = err ? err : refer(again, &record);
	if (err || (thing->kind != REF_process && thing->segment == again->segment))
		return err;
	thing->segment = again->segment;
	err = repeat(again, &record, last);
	if (!err && record.kind == RECORD_managed_frame)
		err = use_name(again, record.managed_frame.process, RECORD_code,
			       record.managed_frame.code);
	for (const struct note *note = thing->first; note && !err; note = note->next)
		if (again_rules[note->kind].action != ACTION_NAME)
			err = repeat_note(again, note, last);
	return err;
}

static int use_thing(struct again *again, enum record_ref kind, uint64_t id)
{
	struct thing *thing = again_find(again, kind, id);

	return thing && thing->segment != again->segment ? repeat_thing(again, thing) : 0;
}

static int use_stack(struct again *again, uint64_t id)
{
	struct stack_row *row = stack_row(again, id);
	const uint32_t last = row->segment;
	const struct record record = {.kind = RECORD_stack, .stack = {id, row->parent, row->frame}};
	int err;

	if (!id || row->id != id || last == again->segment)
		return 0;
	row->segment = again->segment;
	err = refer(again, &record);
	return err ? err : repeat(again, &record, last);
}

/* Repeats what the record refers to and this segment does not have. */
static int refer(struct again *again, const struct record *record)
{
	const struct record_info *info = record_info(record->kind);
	int err = 0;

	for (size_t i = 0; i < info->n_fields && !err; i++) {
		const struct field_info *field = &info->fields[i];
		uint64_t id;

		if (field->ref == REF_none)
			continue;
		id = again_at(record, field->offset);
		err = field->ref == REF_stack ? use_stack(again, id)
					      : use_thing(again, field->ref, id);
	}
	return err;
}

/* --- records --------------------------------------------------------------------------------- */

/* A collection that ends is no longer in progress. */
static void close_collection(struct again *again, const struct record *record)
{
	struct thing *owner = again_owner(again, record);
	struct note *note =
		owner ? again_note_find(again, owner, RECORD_gc_begin, again_key(record, owner))
		      : NULL;

	if (note)
		again_note_drop(again, owner, note);
}

/* A new thread inherits its creator's name. */
static int note_fork(struct again *again, const struct record_fork *fork)
{
	const struct thing *maker = again_find(again, REF_thread, fork->thread);
	struct thing *child = again_find(again, REF_thread, fork->child);
	const struct note *name = maker ? again_note_find(again, maker, RECORD_comm, 0) : NULL;
	struct record record;
	int err;

	if (!name || !child)
		return 0;
	err = codec_unpack(&again->codec, name->packed, name->size, &record);
	record.comm.thread = fork->child;
	return err ? err : again_note_put(again, child, &record, 0);
}

/* The name that an exec gives its thread: that of the file. */
static uint64_t name_of(struct again *again, const struct record_exec *exec)
{
	const struct thing *path = again_find(again, REF_string, exec->path);
	struct record string;
	const char *slash;
	struct bytes text;

	if (!path || codec_unpack(&again->codec, path->packed, path->size, &string))
		return 0;
	text = string.string.text;
	slash = memrchr(text.data, '/', text.size);
	if (slash)
		text = (struct bytes){slash + 1, text.size - (size_t)(slash + 1 - text.data)};
	return again->string(again->context, text.data, text.size);
}

/* An exec drops mappings and number names of the old program and names the thread. */
static int note_exec(struct again *again, const struct record_exec *exec)
{
	static const enum record_kind kinds[] = {RECORD_mmap, RECORD_runtime, RECORD_gc_name,
						 RECORD_gc_begin};
	struct thing *thread = again_find(again, REF_thread, exec->thread);
	struct thing *process = thread ? again_find(again, REF_process, thread->process) : NULL;
	struct record comm = {.kind = RECORD_comm,
			      .comm = {exec->time, exec->thread, name_of(again, exec)}};

	for (size_t i = 0; process && i < sizeof(kinds) / sizeof(*kinds); i++)
		again_notes_drop(again, process, kinds[i]);
	return thread && comm.comm.name ? again_note_put(again, thread, &comm, 0) : 0;
}

/* Drops threads and processes that ended long before `time`. */
static void drop_ended(struct again *again, uint64_t time)
{
	const struct ending *endings = (const void *)again->endings.data;
	size_t count = again->endings.size / sizeof(*endings);

	while (again->forgotten < count && endings[again->forgotten].time + ENDED_NS < time)
		thing_drop(again, endings[again->forgotten++].thing);
	if (again->forgotten < count / 2)
		return;
	again->endings.size = (count - again->forgotten) * sizeof(*endings);
	memmove(again->endings.data, endings + again->forgotten, again->endings.size);
	again->forgotten = 0;
}

static int note_end(struct again *again, struct thing *thing, uint64_t time)
{
	const struct ending ending = {time, thing};

	if (!thing || thing->ended)
		return 0;
	thing->ended = true;
	return buffer_append(&again->endings, &ending, sizeof(ending));
}

static int note_exit(struct again *again, const struct record_exit *record)
{
	struct thing *thread = again_find(again, REF_thread, record->thread), *process;
	int err = note_end(again, thread, record->time);

	process = thread && record->last ? again_find(again, REF_process, thread->process) : NULL;
	err = err ? err : note_end(again, process, record->time);
	drop_ended(again, record->time);
	return err;
}

static int note_change(struct again *again, const struct record *record)
{
	switch (record->kind) {
	case RECORD_fork:
		return note_fork(again, &record->fork);
	case RECORD_exec:
		return note_exec(again, &record->exec);
	case RECORD_exit:
		return note_exit(again, &record->exit);
	default:
		return 0;
	}
}

/* The process of a sample's thread, whose numbers its types are. */
static int use_type(struct again *again, const struct record_alloc *alloc)
{
	const struct thing *thread = again_find(again, REF_thread, alloc->thread);

	return thread ? use_name(again, thread->process, RECORD_type, alloc->type) : 0;
}

int again_put(struct again *again, const struct record *record)
{
	struct thing *owner;
	int err = refer(again, record);

	if (!err && record->kind == RECORD_alloc)
		err = use_type(again, &record->alloc);
	if (!err && record->kind == RECORD_managed_frame)
		err = use_name(again, record->managed_frame.process, RECORD_code,
			       record->managed_frame.code);
	err = err ? err : end_group(again);
	err = err ? err : write_record(again, record);
	if (err)
		return err;
	switch (again_rules[record->kind].action) {
	case ACTION_DEFINE:
		return keep(again, record);
	case ACTION_WRITE:
		return note_change(again, record);
	case ACTION_CLOSE:
		close_collection(again, record);
		return 0;
	default:
		owner = again_owner(again, record);
		return owner ? again_note_put(again, owner, record, again_key(record, owner)) : 0;
	}
}

int again_thread(struct again *again, uint64_t thread)
{
	int err = use_thing(again, REF_thread, thread);

	return err ? err : end_group(again);
}

/* --- files and segments ---------------------------------------------------------------------- */

int again_head(struct again *again, const struct again_output *output, uint64_t segment,
	       uint64_t time, uint64_t part)
{
	struct record record;
	int err = 0;

	for (const struct note *note = again->recording->first; note && !err; note = note->next) {
		if (again_rules[note->kind].action != ACTION_FACT || note->segment >= segment)
			continue;
		err = codec_unpack(&again->codec, note->packed, note->size, &record);
		if (record.kind == RECORD_recording) {
			record.recording.start = time;
			record.recording.part = part;
		}
		err = err ? err : output->write(output->context, &record);
	}
	return err;
}

uint64_t again_number(const struct again *again)
{
	return again->segment;
}

int again_segment(struct again *again, uint64_t time)
{
	const uint32_t last = again->segment++;
	const struct record record = {.kind = RECORD_segment, .segment = {again->segment, time}};
	int err = write_record(again, &record);

	again->begin = time;
	again->repeated = 0;
	for (const struct note *note = again->recording->first; note && !err; note = note->next)
		if (again_rules[note->kind].action == ACTION_STATE)
			err = repeat_note(again, note, last);
	return err ? err : end_group(again);
}

uint64_t again_bytes(const struct again *again)
{
	return again->repeated;
}

int again_create(const struct again_output *output, struct again **out)
{
	const struct buffer nothing = {0};
	struct again *again = calloc(1, sizeof(*again));
	bool complete = again;

	for (int kind = 0; again && kind < REFS; kind++) {
		again->things[kind] = map_create(sizeof(uint64_t));
		complete &= again->things[kind] != NULL;
	}
	if (complete) {
		again->write = output->write;
		again->string = output->string;
		again->context = output->context;
		again->notes = map_create(sizeof(struct note_key));
		again->stacks = calloc(STACK_ROWS, sizeof(*again->stacks));
		again->recording = thing_make(again, REF_none, 0, &nothing);
	}
	if (!complete || !again->notes || !again->stacks || !again->recording) {
		again_free(again);
		return -ENOMEM;
	}
	*out = again;
	return 0;
}

static void release_note(void *value)
{
	struct note *note = value;

	free(note->packed);
	free(note);
}

void again_free(struct again *again)
{
	if (!again)
		return;
	map_free_all(again->notes, release_note);
	for (int kind = 0; kind < REFS; kind++)
		map_free_all(again->things[kind], free);
	free(again->stacks);
	buffer_free(&again->endings);
	buffer_free(&again->packed);
	buffer_free(&again->group);
	free(again);
}
