/* SPDX-License-Identifier: BSD-2-Clause */
/* pprof.h: private to pprof*.c: an export for pprof in progress. */
/*
 * A profile is one protobuf message. A reader joins consecutive messages of the same kind
 * by concatenating their repeated fields. So each sample, function and string is written as
 * a message of its own, and nothing is kept in memory.
 */
#ifndef GCPROF_PPROF_H
#define GCPROF_PPROF_H

#include "../../model/event.h"
#include "../../model/world/world.h"
#include "../../util/buffer.h"
#include "../../util/map.h"
#include "../export.h"
#include "../output.h"
#include "../path.h"

#include "export/pprof/profile.pb-c.h"

typedef Perftools__Profiles__Profile PprofProfile;

/* In the order of the profile's list. */
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

/* The common properties of samples that are summed up. */
struct pprof_key {
	uint32_t stack, thread;
	uint32_t process;   /* if there is no thread */
	uint32_t type;      /* 0: not an allocation */
	uint32_t allocates; /* the stack begins at the function that allocates */
};

struct pprof_sum {
	struct pprof_key key;
	double values[PPROF_VALUES];
};

struct pprof {
	struct export_job job; /* must be first */
	struct map *index;     /* struct pprof_key -> sum */
	struct pprof_sum *sums;
	size_t n_sums, sums_capacity;
	struct map *strings;
	uint64_t n_strings;
	struct buffer packed; /* the current message */
};

/* pprof_tables.c */

/* Writes one message, which readers join with the previous ones. */
void pprof_put(struct pprof *pprof, const PprofProfile *profile);
/* Index of a text, which is written if it is new. */
int64_t pprof_string(struct pprof *pprof, const char *text);
/* Mappings, locations and functions. Location ids are frame ids. */
void pprof_put_tables(struct pprof *pprof, const struct world *world);

#endif
