/* SPDX-License-Identifier: BSD-2-Clause */
/* pprof.h: private to pprof*.c: an export for pprof under way. */
/*
 * A profile is one protobuf message. Messages of the same kind that follow each other
 * are read as one in which repeated fields are joined, so each sample, function and
 * string is written as a message with nothing else in it, and nothing is kept.
 */
#ifndef GCPROF_PPROF_H
#define GCPROF_PPROF_H

#include "../model/event.h"
#include "../model/world/world.h"
#include "../util/buffer.h"
#include "../util/map.h"
#include "export.h"
#include "output.h"
#include "path.h"

#include "profile.pb-c.h"

typedef Perftools__Profiles__Profile PprofProfile;

/* In the order in which the profile lists them. */
enum pprof_value {
	PPROF_ALLOC_OBJECTS,
	PPROF_ALLOC_SPACE,
	PPROF_INUSE_OBJECTS,
	PPROF_INUSE_SPACE,
	PPROF_CPU,
	PPROF_GC_TIME,
	PPROF_OFF_CPU,
	PPROF_FAULTS,
	PPROF_VALUES
};

/* What samples add up to that have all of this in common. */
struct pprof_key {
	uint32_t stack, thread;
	uint32_t process;   /* if there is no thread */
	uint32_t type;      /* 0: anything but allocations */
	uint32_t allocates; /* the stack is to begin at the function that allocates */
};

struct pprof_sum {
	struct pprof_key key;
	double values[PPROF_VALUES];
};

struct pprof {
	struct export_job job; /* first */
	struct map *index;     /* struct pprof_key -> sum */
	struct pprof_sum *sums;
	size_t n_sums, sums_capacity;
	struct map *strings;
	uint64_t n_strings;
	struct buffer packed; /* the message being written */
};

/* pprof_tables.c */

/* Writes one message, which is joined with those before it. */
void pprof_put(struct pprof *pprof, const PprofProfile *profile);
/* Index of a text, which is written if it is new. */
int64_t pprof_string(struct pprof *pprof, const char *text);
/* Mappings, locations, functions. Location ids are those of frames. */
void pprof_put_tables(struct pprof *pprof, const struct world *world);

#endif
