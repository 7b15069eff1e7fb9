/* SPDX-License-Identifier: BSD-2-Clause */
/* again_parts.h: private to again*.c: what earlier segments have defined. */
#ifndef GCPROF_AGAIN_PARTS_H
#define GCPROF_AGAIN_PARTS_H

#include <stdbool.h>
#include <string.h>

#include "../util/buffer.h"
#include "../util/map.h"
#include "codec.h"
#include "intern.h"

/* A record kept with its owner. */
struct note {
	struct note *previous, *next; /* of the same owner */
	uint64_t key;                 /* among notes of its kind */
	enum record_kind kind;
	uint32_t segment; /* the last one that has it, if it is repeated only when needed */
	size_t size;
	char *packed;
};

/* A definition. */
struct thing {
	uint64_t id;
	uint64_t process;     /* of a thread, else 0 */
	uint32_t segment;     /* the last one that has it */
	uint32_t appended;    /* number of notes without a key */
	bool ended;           /* to be dropped soon */
	enum record_ref kind; /* REF_none: the recording itself */
	uint32_t uses;        /* by things and notes that are kept; of strings and modules only */
	struct thing *older, *newer;
	struct note *first, *last;
	size_t size;
	char packed[];
};

/* Those of a kind, in the order in which they came here. */
struct things {
	struct thing *oldest, *newest;
	size_t bytes;
};

/* A defined stack. Stacks are numerous and have no notes. */
struct stack_row {
	uint64_t id; /* the newest in this row */
	uint64_t parent;
	uint64_t frame : 40;
	uint64_t segment : 24; /* as in a thing */
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

struct again {
	int (*write)(void *context, const struct record *record); /* see again_output */
	uint64_t (*string)(void *context, const char *text, size_t size);
	void *context;
	struct codec codec;       /* of records packed one by one */
	struct map *things[REFS]; /* by id: struct thing *; not for stacks */
	struct stack_row *stacks; /* STACK_ROWS, by id */
	struct things unused[REFS], used[REFS];
	struct map *notes; /* struct note_key: struct note * */
	size_t note_bytes;
	struct buffer endings; /* struct ending[], in order of time */
	size_t forgotten;      /* index of the first one left */
	struct thing *recording;
	uint32_t segment; /* its number, from 1; 0: none */
	uint64_t begin;   /* of the segment */
	uint64_t repeated;
	struct buffer packed;
	/* The `again` record that is being made: */
	struct codec group_codec;
	struct buffer group;
	uint32_t group_last; /* the last segment that has what is in it */
};

/* --- rules (again_notes.c) --- */

enum action {
	ACTION_WRITE,  /* nothing else */
	ACTION_DEFINE, /* keep, and repeat when referenced */
	ACTION_FACT,   /* note; repeat in each file */
	ACTION_STATE,  /* note; repeat in each segment */
	ACTION_NOTE,   /* note; repeat with its owner */
	ACTION_NAME,   /* note; repeat when what it names is used */
	ACTION_CLOSE,  /* drop the note of a collection */
};

#define NO_FIELD 0 /* every record has its kind at this offset */

struct rule {
	enum action action;
	enum record_ref owner; /* of a note */
	size_t owner_field;
	size_t key; /* a field; NO_FIELD: keep all if `many`, else the last one */
	bool many;
	bool at_begin; /* when repeated, its time is the begin of the segment */
};

extern const struct rule again_rules[RECORD_CODES];

/* The value of the field at an offset. */
static inline uint64_t again_at(const struct record *record, size_t offset)
{
	uint64_t value = 0;

	if (offset != NO_FIELD)
		memcpy(&value, (const char *)record + offset, sizeof(value));
	return value;
}

static inline struct thing *again_find(const struct again *again, enum record_ref kind, uint64_t id)
{
	const uint64_t *place = id ? map_get(again->things[kind], &id) : NULL;

	return place ? (struct thing *)(uintptr_t)*place : NULL;
}

/* The owner of a record's note (NULL: unknown), and the note's key with that owner. */
struct thing *again_owner(const struct again *again, const struct record *record);
uint64_t again_key(const struct record *record, struct thing *owner);

/* --- uses (again_uses.c) --- */

/* Puts a thing into the list where it belongs, or takes it out. */
void again_link(struct again *again, struct thing *thing);
void again_unlink(struct again *again, struct thing *thing);

/* A record that is kept begins or ceases to use what it refers to. */
void again_use(struct again *again, const struct record *record, bool begins);
void again_leave(struct again *again, const char *packed, size_t size);

/* What is to be forgotten next; NULL: all have room. */
struct thing *again_excess(const struct again *again, enum record_ref kind, size_t limit);

/* --- notes (again_notes.c) --- */

struct note *again_note_find(const struct again *again, const struct thing *owner,
			     enum record_kind kind, uint64_t key);

/* Packs the record into the note with this key. 0, -ENOMEM. Beyond the memory limit nothing is
 * kept. */
int again_note_put(struct again *again, struct thing *owner, const struct record *record,
		   uint64_t key);

void again_note_drop(struct again *again, struct thing *owner, struct note *note);
/* Drops all notes of a kind; 0: of any kind. */
void again_notes_drop(struct again *again, struct thing *owner, unsigned kind);

#endif
