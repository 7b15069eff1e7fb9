// SPDX-License-Identifier: BSD-2-Clause
/* again_notes.c: what is kept of each kind of record, with the definition that it belongs to. */
#include <errno.h>
#include <stdlib.h>

#include "again_parts.h"

#define NOTES_LIMIT ((size_t)64 << 20) /* bytes */

static struct note_key note_key(const struct thing *owner, enum record_kind kind, uint64_t key)
{
	return (struct note_key){owner->id, owner->kind, kind, key};
}

void again_note_drop(struct again *again, struct thing *owner, struct note *note)
{
	const struct note_key key = note_key(owner, note->kind, note->key);

	*(note->previous ? &note->previous->next : &owner->first) = note->next;
	*(note->next ? &note->next->previous : &owner->last) = note->previous;
	again->note_bytes -= sizeof(*note) + note->size;
	again_leave(again, note->packed, note->size);
	map_remove(again->notes, &key);
	free(note->packed);
	free(note);
}

void again_notes_drop(struct again *again, struct thing *owner, unsigned kind)
{
	struct note *next;

	for (struct note *note = owner->first; note; note = next) {
		next = note->next;
		if (!kind || note->kind == (enum record_kind)kind)
			again_note_drop(again, owner, note);
	}
}

struct note *again_note_find(const struct again *again, const struct thing *owner,
			     enum record_kind kind, uint64_t number)
{
	const struct note_key key = note_key(owner, kind, number);
	const uint64_t *place = map_get(again->notes, &key);

	return place ? (struct note *)(uintptr_t)*place : NULL;
}

/* NULL: out of memory. */
static struct note *note_make(struct again *again, struct thing *owner, enum record_kind kind,
			      uint64_t number)
{
	const struct note_key key = note_key(owner, kind, number);
	struct note *note = calloc(1, sizeof(*note));
	uint64_t *place = note ? map_put(again->notes, &key, NULL) : NULL;

	if (!place) {
		free(note);
		return NULL;
	}
	*place = (uintptr_t)note;
	note->kind = kind;
	note->key = number;
	note->previous = owner->last;
	*(owner->last ? &owner->last->next : &owner->first) = note;
	owner->last = note;
	again->note_bytes += sizeof(*note);
	return note;
}

int again_note_put(struct again *again, struct thing *owner, const struct record *record,
		   uint64_t key)
{
	struct note *note = again_note_find(again, owner, record->kind, key);
	char *packed;
	int err;

	if (!note && again->note_bytes > NOTES_LIMIT)
		return 0;
	note = note ? note : note_make(again, owner, record->kind, key);
	err = note ? codec_pack(&again->codec, record, &again->packed) : -ENOMEM;
	packed = err ? NULL : malloc(again->packed.size);
	if (!packed)
		return -ENOMEM;
	memcpy(packed, again->packed.data, again->packed.size);
	again_leave(again, note->packed, note->size);
	free(note->packed);
	again->note_bytes += again->packed.size - note->size;
	note->packed = packed;
	note->size = again->packed.size;
	note->segment = again->segment;
	again_use(again, record, true);
	return 0;
}

#define AT(in, name) offsetof(struct record, in.name)

const struct rule again_rules[RECORD_CODES] = {
	[RECORD_string] = {ACTION_DEFINE},
	[RECORD_module] = {ACTION_DEFINE},
	[RECORD_process] = {ACTION_DEFINE},
	[RECORD_thread] = {ACTION_DEFINE},
	[RECORD_native_frame] = {ACTION_DEFINE},
	[RECORD_kernel_frame] = {ACTION_DEFINE},
	[RECORD_managed_frame] = {ACTION_DEFINE},
	[RECORD_stack] = {ACTION_DEFINE},
	[RECORD_meta] = {ACTION_FACT, .many = true},
	[RECORD_argument] = {ACTION_FACT, .many = true},
	[RECORD_recording] = {ACTION_FACT},
	[RECORD_stream] = {ACTION_FACT, .key = AT(stream, stream)},
	[RECORD_loss_kind] = {ACTION_FACT, .key = AT(loss_kind, kind)},
	[RECORD_call_window] = {ACTION_STATE},
	[RECORD_paused] = {ACTION_STATE, .at_begin = true},
	[RECORD_period] = {ACTION_STATE, .at_begin = true},
	[RECORD_type] = {ACTION_NAME, REF_process, AT(type, process), AT(type, type)},
	[RECORD_code] = {ACTION_NAME, REF_process, AT(code, process), AT(code, code)},
	[RECORD_symbol] = {ACTION_NOTE, REF_frame, AT(symbol, frame), .many = true},
	[RECORD_runtime] = {ACTION_NOTE, REF_process, AT(runtime, process), AT(runtime, provider)},
	[RECORD_gc_name] = {ACTION_NOTE, REF_process, AT(gc_name, process), AT(gc_name, number)},
	[RECORD_mmap] = {ACTION_NOTE, REF_process, AT(mmap, process), AT(mmap, address),
			 .at_begin = true},
	[RECORD_comm] = {ACTION_NOTE, REF_thread, AT(comm, thread), .at_begin = true},
	[RECORD_title] = {ACTION_NOTE, REF_thread, AT(title, thread), .at_begin = true},
	[RECORD_gc_begin] = {ACTION_NOTE, REF_thread, AT(gc_begin, thread), AT(gc_begin, cycle)},
	[RECORD_gc_end] = {ACTION_CLOSE, REF_thread, AT(gc_end, thread), AT(gc_end, cycle)},
};

struct thing *again_owner(const struct again *again, const struct record *record)
{
	const struct rule *rule = &again_rules[record->kind];
	struct thing *thread;

	if (rule->owner == REF_none)
		return again->recording;
	if (record->kind != RECORD_gc_begin && record->kind != RECORD_gc_end)
		return again_find(again, rule->owner, again_at(record, rule->owner_field));
	/* A collection may end in another thread of the process. */
	thread = again_find(again, REF_thread, again_at(record, rule->owner_field));
	return thread ? again_find(again, REF_process, thread->process) : NULL;
}

uint64_t again_key(const struct record *record, struct thing *owner)
{
	const struct rule *rule = &again_rules[record->kind];

	if (rule->many)
		return owner->appended++;
	/* Each heap numbers its cycles separately. */
	if (record->kind == RECORD_gc_begin)
		return again_at(record, rule->key) ^ record->gc_begin.heap << 40;
	if (record->kind == RECORD_gc_end)
		return again_at(record, rule->key) ^ record->gc_end.heap << 40;
	/* Withheld addresses are all 0. */
	if (record->kind == RECORD_mmap && !record->mmap.address)
		return record->mmap.module;
	return again_at(record, rule->key);
}
