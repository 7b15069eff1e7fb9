/* SPDX-License-Identifier: BSD-2-Clause */
/* join_parts.h: private to join*.c: the state of a merge and its inputs. */
#ifndef GCPROF_JOIN_PARTS_H
#define GCPROF_JOIN_PARTS_H

#include "codec.h"
#include "summary.h"
#include "writer.h"

struct join_recording {
	uint64_t id;
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
	/* While it is being read: */
	struct profile_reader *reader;
	uint64_t next;                 /* start of its next chunk, by the clock of the result */
	struct record_segment segment; /* the current one, as it is in the result */
};

struct join {
	int (*open)(void *context, size_t input, struct source **out);
	void *context;
	struct join_input *inputs; /* in order of time, once planned */
	size_t n_inputs, n_all;    /* without and with inputs that are left out */
	struct join_recording *recordings;
	size_t n_recordings;
	uint64_t end; /* latest end, by the clock of the result */
	struct profile_writer *writer;
	const struct join_input *written; /* the input of the last record; NULL: none */
	struct codec *from, *to;          /* of repeated records */
	struct buffer repeated;
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

#endif
