/* SPDX-License-Identifier: BSD-2-Clause */
/* own_places.h: what the program's own functions cost, by what they call. */
/*
 * A place is a function of the program's own, and the pattern (patterns.h) that it called, if any.
 * Everything that happens below it counts there: CPU time, system calls, collections that its
 * objects cause. Findings come from these sums.
 */
#ifndef GCPROF_OWN_PLACES_H
#define GCPROF_OWN_PLACES_H

#include <stddef.h>
#include <stdint.h>

#include "../event.h"
#include "../world/caused.h"
#include "call_kinds.h"
#include "lock_holders.h"
#include "patterns.h"

struct map;
struct world;

struct place {
	uint32_t function; /* 1 + index of world->functions.rows; 0: none */
	uint32_t caller;   /* the same, of the own function that called it most */
	double caller_votes;
	const struct pattern *pattern; /* NULL: none */
	uint32_t call;                 /* 1 + its number; 0: the figures of all, see below */
	enum call_class class;         /* of the call */
	/* Without a call: */
	uint64_t cpu_samples;
	uint64_t samples;            /* of allocations */
	double cpu_ns, collector_ns; /* CPU time: without the collector's, and that */
	struct caused caused;
	struct tally bytes;
	struct share survived;
	/* With one, scaled to the totals of the model: */
	double call_ns, calls, errors;
	double call_variance; /* of call_ns, as calls are sampled */
	double call_cpu_ns;
	double moved_bytes; /* results of these calls, if no errors */
	double messages;    /* of the calls: on connections that are read and written */
	const char *path;   /* an argument of the longest; NULL: unknown */
};

enum { LAST_COSTS = 16 };

/* What calls with one stack in one process took. */
struct stack_call;
struct last_wait;

struct own_places {
	struct place *items; /* number 0 is none */
	size_t count, capacity;
	struct map *index;
	struct stack_call *calls; /* number 0 is none */
	size_t n_calls, calls_capacity;
	struct map *call_index;
	struct map *files; /* what calls waited for, by call and stack: bits by enum wait_file */
	struct call_kinds kinds;
	struct lock_holders holders;
	struct last_wait *waits; /* for one of several descriptors; number 0 is none */
	size_t n_waits, waits_capacity;
	struct map *wait_index;          /* thread -> the last of these */
	uint32_t last_costs[LAST_COSTS]; /* of the last timer samples, in a ring */
	size_t n_last;
	uint32_t last; /* the place of the last one in a function of the program's own; 0: none */
};

int own_places_init(struct own_places *places);
void own_places_free(struct own_places *places);

/* Adds what the record says of system calls, waits for pages and CPU time. 0 or -ENOMEM. */
int own_places_record(struct own_places *places, struct world *world, const struct event *event);

/* Makes the places. Needs the functions, the charges of collections and the rows of system calls. 0
 * or -ENOMEM. */
int own_places_finish(struct own_places *places, const struct world *world);

#endif
