// SPDX-License-Identifier: BSD-2-Clause
/* carry_notes.c: records kept with the definition that they belong to. */
#include <errno.h>
#include <stdlib.h>

#include "carry_parts.h"

#define NOTES_LIMIT ((size_t)64 << 20) /* bytes */

static struct note_key note_key(const struct thing *owner, enum record_kind kind, uint64_t key)
{
	return (struct note_key){owner->id, owner->kind, kind, key};
}

void note_drop(struct carry *carry, struct thing *owner, struct note *note)
{
	const struct note_key key = note_key(owner, note->kind, note->key);

	*(note->previous ? &note->previous->next : &owner->first) = note->next;
	*(note->next ? &note->next->previous : &owner->last) = note->previous;
	carry->note_bytes -= sizeof(*note) + note->last.capacity;
	map_remove(carry->notes, &key);
	buffer_free(&note->last);
	free(note);
}

void notes_drop(struct carry *carry, struct thing *owner, unsigned kind)
{
	struct note *next;

	for (struct note *note = owner->first; note; note = next) {
		next = note->next;
		if (!kind || note->kind == (enum record_kind)kind)
			note_drop(carry, owner, note);
	}
}

struct note *note_find(const struct carry *carry, const struct thing *owner, enum record_kind kind,
		       uint64_t number)
{
	const struct note_key key = note_key(owner, kind, number);
	const uint64_t *place = map_get(carry->notes, &key);

	return place ? (struct note *)(uintptr_t)*place : NULL;
}

/* NULL: out of memory. */
static struct note *note_make(struct carry *carry, struct thing *owner, enum record_kind kind,
			      uint64_t number)
{
	const struct note_key key = note_key(owner, kind, number);
	struct note *note = calloc(1, sizeof(*note));
	uint64_t *place = note ? map_put(carry->notes, &key, NULL) : NULL;

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
	carry->note_bytes += sizeof(*note);
	return note;
}

/* Notes are numerous, so each buffer has exactly the size it needs. */
static int set_bytes(struct buffer *buffer, const struct buffer *bytes)
{
	char *data = buffer->data;

	if (bytes->size != buffer->capacity)
		data = realloc(data, bytes->size);
	if (!data)
		return -ENOMEM;
	memcpy(data, bytes->data, bytes->size);
	*buffer = (struct buffer){data, bytes->size, bytes->size};
	return 0;
}

int note_put(struct carry *carry, struct thing *owner, const struct record *record, uint64_t key)
{
	struct note *note = note_find(carry, owner, record->kind, key);
	size_t before;
	int err;

	if (!note && carry->note_bytes > NOTES_LIMIT)
		return 0;
	note = note ? note : note_make(carry, owner, record->kind, key);
	if (!note)
		return -ENOMEM;
	before = note->last.capacity;
	err = codec_pack(&carry->codec, record, &carry->packed);
	err = err ? err : set_bytes(&note->last, &carry->packed);
	carry->note_bytes += note->last.capacity - before;
	return err;
}
