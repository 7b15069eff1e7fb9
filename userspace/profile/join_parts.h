/* SPDX-License-Identifier: BSD-2-Clause */
/* join_parts.h: private to join*.c: the state of a merge and its inputs. */
#ifndef GCPROF_JOIN_PARTS_H
#define GCPROF_JOIN_PARTS_H

#include "codec.h"
#include "summary.h"
#include "writer.h"
#include "../util/map.h"

/* Ids in the result, indexed by ids in an input. */
struct join_ids {
	uint32_t *items;
	uint64_t limit, defined;
};

/* Ids of definitions in the result. */
struct join_interned {
	struct map *ids; /* by a hash of the definition */
	uint64_t last;
};

struct join_recording {
	uint64_t id;
	size_t inputs;   /* number of inputs with a part of it */
	bool open;       /* one of these is being read */
	bool timed;      /* `offset` is known */
	uint64_t offset; /* CLOCK_REALTIME minus its clock */
};

struct join_input {
	size_t index; /* as given */
	const char *path;
	struct summary summary;
	bool left_out;
	uint64_t begin, end; /* by its own clock */
	uint64_t realtime;   /* CLOCK_REALTIME of `begin`; 0: unknown */
	uint64_t shift;
	uint32_t *recordings; /* numbers in the result, by number in the input; 0: if it has only
				 one */
	size_t n_recordings;  /* length of the array, including 0 */
	bool shared;          /* other inputs have parts of one of its recordings */
	uint64_t known;       /* end of the part of its recording in earlier inputs; 0: none */
	/* While it is being read: */
	struct profile_reader *reader;
	uint64_t next; /* start of its next chunk, by the clock of the result */
	struct join_ids ids[REFS];
};

struct join_notes;

struct join {
	int (*open)(void *context, size_t input, struct source **out);
	void *context;
	struct join_input *inputs; /* in order of time, once planned */
	size_t n_inputs, n_all;    /* without and with inputs that are left out */
	struct join_recording *recordings;
	size_t n_recordings;
	uint64_t end; /* latest end, by the clock of the result */
	struct profile_writer *writer;
	struct join_interned interned[REFS];
	struct join_ids named;     /* by frame: 1 + index of the input with its name */
	struct join_ids processes; /* by thread */
	struct join_notes *notes;
	struct codec *codec;
	struct buffer packed;
	uint64_t refused;
	size_t failed; /* index of the input that could not be read; as many as there are: none */
};

static inline size_t join_sources(const struct join_input *input)
{
	return input->summary.sources.size / sizeof(struct summary_source);
}

static inline struct join_recording *join_recording(const struct join *join,
						    const struct join_input *input, size_t i)
{
	return &join->recordings[input->recordings[i] - 1];
}

/* --- head of the result (join_head.c) --- */

int join_put_head(struct join *join);

/* --- ids (join_ids.c) --- */

/* 0, -ENOMEM, or -EBADMSG for an id far beyond the defined ones. */
int join_ids_put(struct join_ids *ids, uint64_t id, uint64_t value);
uint64_t join_ids_get(const struct join_ids *ids, uint64_t id);

/* Converts ids and times of the record to those of the result. -EBADMSG: its thread or process is
 * not defined, or its recording number is invalid. */
int join_translate(struct join *join, struct join_input *input, struct record *record);

/* Translates a definition and writes it unless the result has it. */
int join_define(struct join *join, struct join_input *input, struct record *record);

/* --- repeated records of files of one recording (join_notes.c) --- */

int join_notes_create(struct join_notes **out);
void join_notes_free(struct join_notes *notes);

/*
 * Takes a translated record of a `shared` input. 0: write the record; 1: do not write it; -ENOMEM.
 */
int join_note(struct join *join, const struct join_input *input, const struct record *record);

/* Call after a `shared` input is read: forgets what had ended in the one before. */
void join_notes_turn(struct join_notes *notes);

#endif
