/* SPDX-License-Identifier: BSD-2-Clause */
/* finding.h: candidates for findings, and what those that look for them need. */
#ifndef GCPROF_FINDING_H
#define GCPROF_FINDING_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "../model.h"
#include "own_places.h"

enum finding_kind {
#define FINDING(kind, certainty, doc) FOUND_##kind,
#include "finding_kinds.def"
	FINDING_KINDS
};

enum topic {
	TOPIC_NONE,
	TOPIC_KEEP,
	TOPIC_ALLOCATE,
	TOPIC_COLLECT,
	TOPIC_BOXES,
	TOPIC_GROWS,
	TOPIC_KEEPERS,
	TOPIC_ROOM,
	TOPIC_LARGE,
	TOPIC_EXPLICIT,
	TOPIC_NURSERY,
	TOPIC_PREMATURE,
	TOPIC_LOCK,
	TOPIC_GIL,
	TOPIC_DISK,
	TOPIC_PEER,
	TOPIC_CHILD,
	TOPIC_PROCESSES,
	TOPIC_FILE_LOCK,
	TOPIC_CALLS,
	TOPIC_FEWER,
	TOPIC_MESSAGES,
	TOPIC_BLOCKS,
	TOPIC_REOPEN,
	TOPIC_SLEEP,
	TOPIC_MATCHING,
	TOPIC_HANDOVER,
	TOPIC_FILES,
	TOPIC_QUERY,
	TOPIC_ERRORS,
	TOPIC_FAULTS,
	TOPIC_DISK_FAULTS,
	TOPIC_POLL,
	TOPIC_READS,
	TOPIC_SPIN,
	TOPIC_OWN_THREADS,
	TOPIC_COMPILING,
	TOPIC_OTHERS,
	TOPIC_OTHERS_OR_QUOTA,
	TOPIC_QUOTA,
	TOPIC_SAFEPOINT,
	TOPIC_PAUSE,
};

/* What finders look at. */
struct evidence {
	const struct model *model;
	const struct place *places; /* from number 1 on */
	size_t n_places;
	const struct place *last;     /* where the program was last on a CPU; NULL: unknown */
	const struct lock_held *held; /* what holders of locks did */
	size_t n_held;
	const struct model_function *functions; /* rows that places refer to */
	size_t n_functions;
	double busy_ns;     /* of all threads: on a CPU, or blocked but not idle */
	double children_ns; /* of processes whose parent is recorded: on a CPU, or ready for one */
};

/* A place summed over its callers and patterns. */
struct spot_sum {
	uint32_t function;         /* as of places; 0: none of the program's own */
	double value;              /* what was summed */
	const struct place *place; /* the one with most of it */
	struct caused_figures gc;  /* of all places of the function */
	double bytes;
};

/* A candidate. The texts are sentences; evidence, remedy and command may stay empty. */
struct candidate {
	double lost_ns;
	const struct place *place; /* NULL: no function */
	FILE *text, *evidence, *remedy, *command;
};

/* The n-th candidate of its kind, from 0; false: there are no more. */
typedef bool find_candidate(const struct evidence *evidence, unsigned n, struct candidate *out);
#define FINDING(kind, certainty, doc) find_candidate find_##kind;
#include "finding_kinds.def"

/* What a place has of something; negative or 0: nothing. */
typedef double place_measure(const struct evidence *evidence, const struct place *place);

/*
 * The function with the n-th greatest sum of a measure; false: no more. What is below none of the
 * program's own counts together, as function 0, for n = 0 only.
 */
bool spot_find(const struct evidence *evidence, place_measure *measure, unsigned n,
	       struct spot_sum *out);

/* The sum over all places. */
double places_sum(const struct evidence *evidence, place_measure *measure);

/* CPU time of programs' threads, and of collectors. */
double cpu_of(const struct evidence *evidence);
double collector_of(const struct evidence *evidence);

/* " in F (called by G)", or "" without a function. */
void write_place(FILE *out, const struct evidence *evidence, const struct place *place);

enum { PLACE_NAME_SIZE = 61 };

/* The name of a place's function, as people know it; NULL: none. Into `size` bytes. */
const char *place_name(const struct evidence *evidence, uint32_t function, char *out, size_t size);

/* What to do, and the command that shows more of a place. */
void write_remedy(struct candidate *out, const struct evidence *evidence, enum topic topic);
/* That of the place's pattern, or of the topic. */
void write_pattern_remedy(struct candidate *out, const struct evidence *evidence, enum topic topic);
/* "gcprof report OPTION 'KEY...'", its last word with a name that may contain anything: a program
 * chose it, and users copy the command. */
void write_command(struct candidate *out, const char *option, const char *key, const char *name);
void write_callers(struct candidate *out, const struct evidence *evidence);

/*
 * Is a wait the program's? It is below one of its functions; or a runtime's threads or loop wait
 * for a disk or a server on its behalf.
 */
bool is_placed(const struct evidence *evidence, const struct place *place);

/* The row of a call's number plus 1; NULL: none. */
const struct model_syscall *call_of(const struct evidence *evidence, uint32_t call);

#endif
