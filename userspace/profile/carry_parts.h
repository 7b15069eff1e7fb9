/* SPDX-License-Identifier: BSD-2-Clause */
/* carry_parts.h: private to carry*.c and join_notes.c: the state kept from previous files. */
#ifndef GCPROF_CARRY_PARTS_H
#define GCPROF_CARRY_PARTS_H

#include <stdbool.h>
#include <string.h>

#include "codec.h"
#include "nodes.h"
#include "../util/buffer.h"
#include "../util/map.h"

/* A record kept with its owner. */
struct note {
	struct note *previous, *next; /* of the same owner */
	uint64_t key;                 /* among notes of its kind */
	enum record_kind kind;
	struct buffer last; /* packed */
};

/* A definition. */
struct thing {
	uint64_t id;          /* in the recording */
	uint64_t local;       /* in this file; 0: not defined there */
	uint64_t process;     /* of a thread, else 0 */
	uint32_t file;        /* the file of `local` */
	uint32_t appended;    /* number of notes without a key */
	bool ended;           /* to be dropped soon */
	enum record_ref kind; /* REF_none: the recording itself */
	struct note *first, *last;
	size_t size;
	char packed[];
};

/* A defined stack. Stacks are numerous and have no notes. */
struct stack_row {
	uint64_t id; /* in the recording; the newest in this row */
	uint64_t parent, frame;
	uint32_t local, file; /* as in a thing */
};

enum { STACK_ROWS = 2 * NODES_MAX }; /* enough for all that the writer still refers to */

struct note_key {
	uint64_t owner, owner_kind, kind, key;
};

/* A thread or process that has ended. */
struct ending {
	uint64_t time;
	struct thing *thing;
};

struct carry {
	int (*write)(void *context, const struct record *record);
	void *context;
	struct codec codec;        /* encodes each record on its own */
	struct map *things[REFS];  /* by id of the recording: struct thing *; not for stacks */
	struct stack_row *stacks;  /* STACK_ROWS, by id */
	size_t bytes[REFS];        /* of things */
	uint64_t oldest[REFS];     /* lower ids have been forgotten */
	uint64_t last_local[REFS]; /* last id assigned in this file */
	struct map *notes;         /* struct note_key: struct note * */
	size_t note_bytes;
	struct buffer endings; /* struct ending[], in order of time */
	size_t forgotten;      /* index of the first one left */
	struct thing *recording;
	uint32_t file;  /* its number, from 1 */
	uint64_t begin; /* of the file; 0: of the whole recording */
	uint64_t part;  /* number of the file, as stored in it */
	struct buffer packed;
};

/* --- rules (carry_rules.c) --- */

enum action {
	ACTION_WRITE,  /* nothing else */
	ACTION_DEFINE, /* keep, and write when referenced */
	ACTION_NAME,   /* note, and write if the owner is defined in this file */
	ACTION_NOTE,   /* note and write */
	ACTION_OPEN,   /* note and write, until a record of the next code */
	ACTION_CLOSE,  /* drops the note of an ACTION_OPEN */
};

#define NO_FIELD 0 /* every record has its kind at this offset */

struct rule {
	enum action action;
	enum record_ref owner; /* of a note */
	size_t owner_field;
	size_t key; /* a field; NO_FIELD: keep all if `many`, else the last one */
	bool many;
	bool at_begin; /* when repeated in another file, its time is the start of that file */
};

extern const struct rule carry_rules[RECORD_CODES];

/* The value of the field at an offset. */
static inline uint64_t carry_at(const struct record *record, size_t offset)
{
	uint64_t value = 0;

	if (offset != NO_FIELD)
		memcpy(&value, (const char *)record + offset, sizeof(value));
	return value;
}

/* The owner of a record's note (NULL: unknown), and the note's key with that owner. `owner` may be
 * NULL if the rule is not for many. */
struct thing *carry_owner(const struct carry *carry, const struct record *record);
uint64_t carry_key(const struct record *record, struct thing *owner);

/* --- notes (carry_notes.c) --- */

static inline struct thing *carry_find(const struct carry *carry, enum record_ref kind, uint64_t id)
{
	const uint64_t *place = map_get(carry->things[kind], &id);

	return place ? (struct thing *)(uintptr_t)*place : NULL;
}

struct note *note_find(const struct carry *carry, const struct thing *owner, enum record_kind kind,
		       uint64_t number);

/* Packs the record into the note with this key. 0, -ENOMEM. Beyond the memory limit nothing is
 * kept. */
int note_put(struct carry *carry, struct thing *owner, const struct record *record, uint64_t key);

void note_drop(struct carry *carry, struct thing *owner, struct note *note);
/* Drops all notes of a kind; 0: of any kind. */
void notes_drop(struct carry *carry, struct thing *owner, unsigned kind);

#endif
