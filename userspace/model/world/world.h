/* SPDX-License-Identifier: BSD-2-Clause */
/* world.h: what events refer to: processes, threads, stacks, types, names; and sums by time. */
#ifndef GCPROF_MODEL_WORLD_H
#define GCPROF_MODEL_WORLD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../../../bpf/events.h"
#include "../../profile/record.h"
#include "../model.h"
#include "caused.h"
#include "charging.h"
#include "durations.h"
#include "estimate.h"
#include "life.h"
#include "tasks.h"
#include "timeline.h"
#include "tree.h"

/* Runtimes recorded without gcprof's probes, and providers of probes. */

struct id_map;
struct model_runtime;

/* The shortest period of a provider's samples. */
struct provider_period {
	uint64_t process, place;    /* place: the provider's number in its process, minus 1 */
	uint64_t shortest, longest; /* periods of its samples */
	bool named;                 /* there is a row of this provider */
};

struct runtimes {
	struct model_runtime *rows;
	size_t count, capacity;
	struct provider_period *periods;
	size_t n_periods, periods_capacity, last; /* last: of the latest sample */
	struct id_map *index;                     /* {process, place + 1} -> number, from 1 */
};

void runtimes_free(struct runtimes *runtimes);

/* 0, -EBADMSG, -ENOMEM. */
int runtimes_record(struct runtimes *runtimes, const struct tasks *tasks, const struct tree *tree,
		    const struct record_runtime *record);

/* A sample of the process with this id and period. 0 or -ENOMEM. */
int runtimes_sampled(struct runtimes *runtimes, uint64_t process, uint64_t sample, uint64_t period);

/* Prints "type 1", or "type 1 of provider 2": something that has no name but a number. */
void runtimes_unnamed(const char *what, uint64_t number, char *out, size_t size);

/* Kind of work that this function and all its callees do. */
enum work_kind runtimes_work(const struct runtimes *runtimes, const char *function);

/* Part of a collector's work that this function and its callees do, up to those of other parts. */
enum gc_part runtimes_part(const struct runtimes *runtimes, const char *function);

/* What a function waits for that is in such a list; *weak: only if no other function on the stack
 * is. RUNTIME_WAITS: it is in none. */
enum runtime_wait runtimes_wait(const struct runtimes *runtimes, const char *function, bool *weak);

/* Is it a type without references, by this name, of some runtime with such a list? */
bool runtimes_plain(const struct runtimes *runtimes, const char *type);

/* Fills the model's rows. 0 or -ENOMEM. */
int runtimes_finish(const struct runtimes *runtimes, const struct tasks *tasks,
		    struct model *model);

struct long_pause;
struct map;

/* Sums over the samples of each type. */

struct type {
	const char *name; /* NULL: not known yet */
	uint64_t number;
	uint32_t process;
	uint32_t first; /* index of the first type with the same name; 0: not looked up yet */
	uint64_t samples, fates;
	struct tally bytes;
	struct object_tally objects;
	struct share survived;
	struct life life;
	double live_bytes;
	double charged[CHARGES]; /* as in stack_life.h */
	struct caused caused;    /* the same, set by charges_finish() */
	double hidden;           /* the same for being kept, of objects that a filter leaves out */
	bool plain;              /* its objects have no references */
};

/*
 * TYPE_UNSELECTED takes the charges of samples that a filter excludes. It has no samples itself.
 * Indexes are the same in every pass.
 */
enum { TYPE_UNSELECTED = 1, TYPE_CACHE = 1024 };

struct types {
	struct type *items; /* item 0 is none, 1 is TYPE_UNSELECTED */
	size_t count, capacity;
	struct map *index;          /* {process, type} -> index of the latest name */
	struct map *names;          /* name -> index of the first type with it */
	uint32_t cache[TYPE_CACHE]; /* indexes by low bits of process and type; 0: none */
};

int type_table_init(struct types *types);
void type_table_free(struct types *types);

/* Index of a type, created if needed; -ENOMEM, -EBADMSG for an impossible process. */
int64_t type_table_number(struct types *types, uint64_t process, uint64_t type);

/*
 * Names a type. A different name for the same number makes a new type: the process executed a new
 * program.
 */
int type_table_name(struct types *types, const struct record_type *record, const char *name);

/* Index of the first type, of any process, with the name that this one has by now; -ENOMEM. */
int64_t type_table_first(struct types *types, const struct tasks *tasks, uint32_t type);

/* Is anything known of what became of the objects of any type? */
bool type_table_knows_lives(const struct types *types);

/* Fills model->types, one row per name, largest first. Missing names come from ancestors. */
int type_table_finish(struct types *types, const struct tasks *tasks, struct model *model);

/* What was recorded, what was not, and what was lost. */

struct stream_state {
	const char *why_not;
	uint64_t why;            /* enum stream_why */
	bool reported, attached; /* from a stream record */
	uint64_t events;
};

struct loss_state {
	const char *name, *text, *one; /* name NULL: no such kind */
	uint32_t stream, severity;
	uint64_t count;
};

struct streams {
	struct stream_state streams[STREAM_END];
	struct loss_state losses[LOSS_MAX];
};

int streams_stream(struct streams *streams, struct arena *arena,
		   const struct record_stream *record);
int streams_loss_kind(struct streams *streams, struct arena *arena,
		      const struct record_loss_kind *record);
int streams_loss(struct streams *streams, const struct record_loss *record);

/* Counts a record in its stream. */
void streams_count(struct streams *streams, const struct record *record);

int streams_finish(const struct streams *streams, struct model *model);

/* The runtimes' own names for kinds and reasons of pauses, with counts; and for areas. */

/* A name with its number in one process. */
struct gc_name {
	uint64_t process, number;
	const char *text;         /* NULL: not announced */
	uint64_t kind;            /* of the pauses with this name, as in gc_begin */
	struct durations *pauses; /* with this name; NULL: none */
	uint64_t count, ns;       /* pauses with this reason */
};

struct gc_names {
	struct gc_name *items;
	size_t count, capacity;
	struct map *index; /* {process, number} -> index */
};

int gc_names_init(struct gc_names *names); /* 0 or -ENOMEM; *names must be zero */
void gc_names_free(struct gc_names *names);

/* A later text for the same number is ignored. 0, -EBADMSG, -ENOMEM. */
int gc_names_define(struct gc_names *names, const struct record_gc_name *record, const char *text);

/* NULL: not defined so far. */
const char *gc_names_text(const struct gc_names *names, uint64_t process, uint64_t number);

/* Counts an ended pause under its name and reason, if the runtime defined these. 0 or -ENOMEM. */
int gc_names_pause(struct gc_names *names, const struct long_pause *pause, uint64_t ns);

/* Counts collections under a reason that the program defined. 0 or -ENOMEM. */
int gc_names_reason(struct gc_names *names, uint64_t process, uint64_t reason, uint64_t count,
		    uint64_t ns);

/* Fills the model's rows: by text, over all processes. 0 or -ENOMEM. */
int gc_names_finish(struct gc_names *names, struct model *model);

struct function_sums;
struct model_function;

/*
 * Rows of all functions, in no order. The functions of a frame are of_frames[first_function] to
 * [first_function + n_functions - 1].
 */
struct functions {
	struct model_function *rows;
	struct function_sums *sums; /* same index as rows */
	size_t n_rows, rows_capacity;
	uint32_t *of_frames;
	size_t n_of_frames, of_frames_capacity;
};

struct world {
	struct model *model; /* the rows, as far as they are known */
	struct tree tree;
	struct tasks tasks;
	struct types types;
	struct gc_names gc_names;
	struct runtimes runtimes;
	struct streams streams;
	struct timeline timeline;
	struct functions functions; /* filled after the last record */
	uint64_t last_time;         /* latest time of any record; 0: none */
	bool filtered;              /* a filter is in use */
	bool arguments;             /* system call arguments were recorded */
	bool no_memory;             /* for a charge (gc/charges.h) */
};

/* 0 or -ENOMEM; call model_world_free() in any case. `model` is borrowed. */
int model_world_init(struct world *world, struct model *model);
void model_world_free(struct world *world);

/* Counts a stack with the reasons why it is incomplete: bits, see FORMAT.md. */
void quality_count(struct world *world, uint64_t stack, uint64_t quality, uint64_t ns);

#endif
