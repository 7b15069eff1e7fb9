/* SPDX-License-Identifier: BSD-2-Clause */
/* carry_parts.h: private to carry*.c and join_notes.c: what is kept of the files before. */
#ifndef GCPROF_CARRY_PARTS_H
#define GCPROF_CARRY_PARTS_H

#include <stdbool.h>
#include <string.h>

#include "codec.h"
#include "nodes.h"
#include "../util/buffer.h"
#include "../util/map.h"

/* A record that is noted with what it is about. */
struct note {
	struct note *previous, *next; /* of the same owner */
	uint64_t key;                 /* among those of its kind */
	enum record_kind kind;
	uint32_t file;      /* of sums: that `last` is of */
	bool pending;       /* of sums: `last` is not written yet */
	struct buffer last; /* packed */
	struct buffer base; /* of sums: as the file before ended */
};

/* What was defined. */
struct thing {
	uint64_t id;          /* of the recording */
	uint64_t local;       /* in this file; 0: it is not defined there */
	uint64_t process;     /* of a thread, else 0 */
	uint32_t file;        /* that `local` is of */
	uint32_t appended;    /* notes that have no key */
	bool ended;           /* and will be forgotten */
	enum record_ref kind; /* REF_none: the recording itself */
	struct note *first, *last;
	size_t size;
	char packed[];
};

/* A stack that was defined: there are many, and nothing is noted of them. */
struct stack_row {
	uint64_t id; /* of the recording; the newest of those that have this place */
	uint64_t parent, frame;
	uint32_t local, file; /* as of a thing */
};

enum { STACK_ROWS = 2 * NODES_MAX }; /* what the writer still refers to is among them */

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
	struct codec codec;        /* each record by itself */
	struct map *things[REFS];  /* by id of the recording: struct thing *; but for stacks */
	struct stack_row *stacks;  /* STACK_ROWS, by id */
	size_t bytes[REFS];        /* of them */
	uint64_t oldest[REFS];     /* lower ids are forgotten */
	uint64_t last_local[REFS]; /* ids given in this file */
	struct map *notes;         /* struct note_key: struct note * */
	size_t note_bytes;
	struct buffer endings; /* struct ending[], in order of time */
	size_t forgotten;      /* the first of these */
	struct thing *recording;
	uint32_t file;  /* its number, from 1 */
	uint64_t begin; /* of the file; 0: of the recording */
	uint64_t part;  /* number of the file, as it says itself */
	struct buffer packed, room;
};

/* --- rules (carry_rules.c) --- */

enum action {
	ACTION_WRITE,  /* and no more */
	ACTION_DEFINE, /* keep, and write when it is referred to */
	ACTION_NAME,   /* note, and write if the owner is defined in this file */
	ACTION_NOTE,   /* note and write */
	ACTION_SUM,    /* the same with what it grew by */
	ACTION_OPEN,   /* note and write, until a record of the next kind */
	ACTION_CLOSE,  /* the note of an ACTION_OPEN goes */
};

#define NO_FIELD 0 /* every record has its kind there */

struct rule {
	enum action action;
	enum record_ref owner; /* of a note */
	size_t owner_field;
	size_t key; /* a field; NO_FIELD: all are noted, if `many`, or the last one */
	bool many;
	bool at_begin; /* when it is written again, its time is the begin of the file */
};

extern const struct rule carry_rules[RECORD_CODES];

/* The value of the field there. */
static inline uint64_t carry_at(const struct record *record, size_t offset)
{
	uint64_t value = 0;

	if (offset != NO_FIELD)
		memcpy(&value, (const char *)record + offset, sizeof(value));
	return value;
}

/* With whom a record is noted, NULL: it is not known; and its key among the notes there. Where a
 * rule is not for many, `owner` may be NULL. */
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

/* Packs the record into the note with this key. 0, -ENOMEM. Beyond the limit nothing is noted. */
int note_put(struct carry *carry, struct thing *owner, const struct record *record, uint64_t key);

void note_drop(struct carry *carry, struct thing *owner, struct note *note);
/* All of a kind; 0: of any. */
void notes_drop(struct carry *carry, struct thing *owner, unsigned kind);

#endif
