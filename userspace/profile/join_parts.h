/* SPDX-License-Identifier: BSD-2-Clause */
/* join_parts.h: private to join*.c: what is known of the inputs, and what is written of them. */
#ifndef GCPROF_JOIN_PARTS_H
#define GCPROF_JOIN_PARTS_H

#include "codec.h"
#include "summary.h"
#include "writer.h"
#include "../util/map.h"

/* Ids of the result, by those of an input. */
struct join_ids {
	uint32_t *items;
	uint64_t limit, defined;
};

/* Ids that definitions have in the result. */
struct join_interned {
	struct map *ids; /* by a hash of the definition */
	uint64_t last;
};

struct join_recording {
	uint64_t id;
	size_t inputs;   /* that have some of it */
	bool open;       /* one of them is being read */
	bool timed;      /* `offset` is known: */
	uint64_t offset; /* CLOCK_REALTIME less its own clock */
};

struct join_input {
	size_t index; /* as given */
	const char *path;
	struct summary summary;
	bool left_out;
	uint64_t begin, end; /* by its own clock */
	uint64_t realtime;   /* of its begin; 0: unknown */
	uint64_t shift;
	uint32_t *recordings; /* numbers in the result, by those in the input: 0 is the only one */
	size_t n_recordings;  /* of these, 0 included */
	bool shared;          /* other inputs have some of a recording of it */
	uint64_t known;       /* its recording until then is in other inputs; 0: none of it is */
	/* While it is read: */
	struct profile_reader *reader;
	uint64_t next; /* when its next chunk begins, by the clock of the result */
	struct join_ids ids[REFS];
	uint64_t losses[SUMMARY_LOSSES]; /* so far */
};

struct join_notes;

struct join {
	int (*open)(void *context, size_t input, struct source **out);
	void *context;
	struct join_input *inputs; /* in order of time, once planned */
	size_t n_inputs, n_all;    /* without those that are left out, and with them */
	struct join_recording *recordings;
	size_t n_recordings;
	uint64_t end; /* of all, by the clock of the result */
	struct profile_writer *writer;
	struct join_interned interned[REFS];
	struct join_ids named;     /* by frame: 1 + index of the input that has its name */
	struct join_ids processes; /* by thread */
	struct join_notes *notes;
	uint64_t losses[SUMMARY_LOSSES];
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

/* --- what the result begins with (join_head.c) --- */

int join_put_head(struct join *join);

/* --- ids (join_ids.c) --- */

/* 0, -ENOMEM, or -EBADMSG for an id far beyond those that are defined. */
int join_ids_put(struct join_ids *ids, uint64_t id, uint64_t value);
uint64_t join_ids_get(const struct join_ids *ids, uint64_t id);

/* Gives the record ids and times of the result. -EBADMSG: it is of a thread or process that is not
 * defined, or its ids make no sense. */
int join_translate(struct join *join, struct join_input *input, struct record *record);

/* A definition, not yet translated: writes it if the result does not have it. */
int join_define(struct join *join, struct join_input *input, struct record *record);

/* --- sums, and what stands again in each file of a recording (join_notes.c) --- */

int join_notes_create(struct join_notes **out);
void join_notes_free(struct join_notes *notes);

/*
 * A translated record of a recording of which other inputs have some. 1: it was taken, and is not
 * to be written; 0: it is, as it is now; -ENOMEM.
 */
int join_note(struct join *join, const struct join_input *input, struct record *record);

/* Such an input has been read: forgets those that had ended in the one before. */
void join_notes_turn(struct join_notes *notes);

/* Writes what was taken. */
int join_notes_finish(struct join *join);

#endif
