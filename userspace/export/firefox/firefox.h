/* SPDX-License-Identifier: BSD-2-Clause */
/* firefox.h: private to firefox*.c: an export for the Firefox Profiler in progress. */
/*
 * The processed profile format, version 66: tables are structs of columns, so every table is
 * traversed once per column. Rows wait in a spool; collections, which are few, in memory.
 *
 * The profiler's front end does not check the following, so the exporter must guarantee it:
 * [columns]  all columns of a table have `length` entries;
 * [order]    rows are sorted by time, parents of stacks precede children;
 * [indexes]  every index points into its table;
 * [counters] the first value of a counter is ignored, the others are differences;
 * [names]    a function has one row, otherwise the call tree falls apart.
 */
#ifndef GCPROF_FIREFOX_H
#define GCPROF_FIREFOX_H

#include "../../model/event.h"
#include <string.h>

#include "../../model/world/world.h"
#include "../../util/id_map.h"
#include "../../util/map.h"
#include "../export.h"
#include "../output.h"
#include "../path.h"
#include "rows.h"

struct ff_thread {
	struct spool_stream cpu, waits, allocs, calls;
	uint64_t registered, unregistered; /* 0: unknown */
	uint64_t allocations, deaths;      /* rows of `allocs` */
	uint32_t first_gc, first_mark;
};

struct ff_process {
	struct spool_stream allocs, faults;
	uint64_t ended; /* 0: unknown */
	uint64_t cpu_ns;
	size_t first_track, first_level; /* indexes, if there are any */
	uint32_t first_gc;
	struct recent *recent[CAUSE_KINDS]; /* NULL: nothing yet */
	uint32_t causes[CAUSE_KINDS];       /* of the last collection that had some */
	struct mark cycle;                  /* the last; its process is 0: none */
};

/* A heap's major collector. */
struct ff_heap {
	uint64_t phase, since, thread;
};

enum category {
	CATEGORY_OTHER,
	CATEGORY_IDLE,
	CATEGORY_MANAGED,
	CATEGORY_NATIVE,
	CATEGORY_KERNEL,
	CATEGORY_GC,
	CATEGORY_COMPILER,
	CATEGORY_TYPE,
	CATEGORY_UNKNOWN,
	CATEGORY_DIED,
	CATEGORY_LIVED,
	CATEGORIES
};

/* The first outcome of an object. */
enum survival { SURVIVAL_UNKNOWN, SURVIVAL_DIED, SURVIVAL_LIVED, SURVIVALS };

/* Functions that no program contains. Each has one frame with the same number. */
enum pseudo {
	PSEUDO_NO_STACK,
	PSEUDO_MINOR, /* frees objects that died young */
	PSEUDO_MAJOR, /* frees objects that died old */
	PSEUDO_FREED,
	PSEUDO_UNKNOWN,
	PSEUDO_DIED,
	PSEUDO_LIVED,
	PSEUDO_IDLE, /* between samples that are no CPU time */
	PSEUDO_WAIT, /* and the following: one for each reason */
	PSEUDOS = PSEUDO_WAIT + WAIT_KINDS
};

#define NO_FILE (-1)
#define NO_NAME "(no name)"

enum { COUNTED_MAX = 32 }; /* heaps and processes with counters: more are unreadable */

/* The numbers of all rows of the shared tables. */
struct layout {
	uint32_t *types; /* by type: the row among the names of types */
	const char **type_names;
	uint32_t n_types;
	int64_t *source_of, *module_of; /* by function: the number of a file, or NO_FILE */
	const char **sources, **modules;
	uint32_t n_sources, n_modules;
	uint32_t *frame_start; /* by frame: the first row of its functions */
	uint32_t *node_leaf;   /* by stack: the row of its innermost function */
	uint32_t *node_order;  /* stacks, parents first */
	uint32_t n_nodes;
	uint32_t n_frames, n_stacks, combo_start, wait_start;
	bool managed, native; /* the kinds of functions in the profile */
};

/* What is left out to limit the size of the file. */
struct thinning {
	uint64_t cpu_keep, wait_keep, alloc_keep, fault_keep; /* one of this many is kept */
	uint64_t call_min_ns; /* system calls of at least this duration have markers, */
	uint64_t edge_min_ns; /* and one of `edge_keep` of those of at least this one */
	uint64_t edge_keep, edge_seen;
	uint64_t calls_kept;
};

/* An entry of `threads`: a real thread, or a process's allocations or page faults. */
struct ff_track {
	enum { TRACK_THREAD, TRACK_ALLOCATIONS, TRACK_FAULTS } kind;
	uint64_t thread; /* 0: not a real thread */
	uint64_t process;
	uint64_t process_ns; /* CPU time of the process */
	uint64_t rows;
	bool main;
};

struct firefox {
	struct export_job job; /* must be first */
	struct spool *spool;
	struct ff_thread *threads; /* by id; ids at or above the capacity have no data */
	struct ff_process *processes;
	size_t threads_capacity, processes_capacity;
	struct map *heaps; /* {process, heap} -> index */
	struct ff_heap *heap_items;
	size_t n_heaps, heaps_capacity;
	struct id_map *live; /* {process, sample} -> index */
	struct live_object *live_items;
	size_t n_live, live_capacity;
	uint32_t free_live;
	struct map *combos; /* struct combo -> index */
	struct combo *combo_items;
	size_t n_combos, combos_capacity;
	struct map *waits; /* struct wait -> index */
	struct wait *wait_items;
	size_t n_wait_items, wait_items_capacity;
	unsigned char *survivals; /* of sampled objects, by number */
	size_t n_survivals, survivals_capacity;
	struct gc_mark *gcs; /* index 0 is unused */
	size_t n_gcs, gcs_capacity;
	struct causes_found *causes; /* index 0 is unused */
	size_t n_causes, causes_capacity;
	struct mark *marks; /* index 0 is unused */
	size_t n_marks, marks_capacity;
	uint64_t gcs_dropped, marks_dropped;
	uint64_t n_cpu, n_waits, n_allocs, n_deaths, n_calls, n_faults;
	uint64_t calls_by_duration[SYSCALL_BUCKETS];
	uint64_t call_bytes[SYSCALL_BUCKETS]; /* their size in the file */

	/* Valid once the model is complete: */
	const struct world *world;
	struct layout layout;
	struct sources sources;
	struct thinning thin;
	struct level *levels; /* by process, heap, time */
	size_t n_levels, levels_capacity;
	struct ff_track *tracks;
	size_t n_tracks;
	struct map *call_names;   /* number of a system call -> 1 + row in model->syscalls */
	struct map *thread_names; /* struct name_key -> threads that have it */
	struct map *pids, *tids;  /* number -> the first process or thread that has it */
	struct map *string_index; /* text -> index */
	const char **strings;
	size_t n_strings, strings_capacity;
};

/* firefox_events.c: takes records; at the end adds CPU time without samples, and live objects. */
int firefox_record(struct model_observer *, const struct world *, const struct event *);
int firefox_end(struct firefox *firefox);

/* Of a heap, or another thing that each process numbers. */
struct pair_key {
	uint64_t process, number;
};

/* The process of a thread that the model knows. */
uint64_t firefox_process_of(const struct world *world, uint64_t thread);

/* marks.c: adds a rare event, that of a record, or the pauses of the recording. 0 or -ENOMEM. */
int firefox_add_mark(struct firefox *firefox, const struct mark *mark);
int firefox_mark_record(struct firefox *firefox, const struct world *world,
			const struct record *record);
int firefox_mark_pauses(struct firefox *firefox);

/* A process and the hash of a thread's name, which is the same text wherever it occurs. */
struct name_key {
	uint64_t words[2];
};

static inline struct name_key firefox_name_key(uint64_t process, const char *name)
{
	return (struct name_key){{process, map_hash(map_seed(), name, strlen(name))}};
}

/* firefox_plan.c: selects the tracks and what fits into the file. */
int firefox_plan_tracks(struct firefox *firefox);
/* Index of the first track of a process that has one. */
size_t firefox_main_track(const struct firefox *firefox, uint64_t process);
int firefox_plan_size(struct firefox *firefox);
bool firefox_keeps_object(const struct firefox *firefox, uint64_t number);

/*
 * firefox_causes.c: counts a sample, or the bytes of one that a collection kept. 0 or -ENOMEM. A
 * collection takes the causes since the last one: their index (0: none), or -ENOMEM. The others
 * write the fields of a marker.
 */
int firefox_cause(struct ff_process *process, uint32_t combo, double bytes, double kept);
int64_t firefox_take_causes(struct firefox *firefox, struct ff_process *process,
			    enum cause_kind kind);
void firefox_put_causes(struct firefox *firefox, uint32_t number, uint64_t time);
void firefox_put_pause_causes(struct firefox *firefox, const struct model_pause *pause);

/*
 * firefox_levels.c: gathers the sizes of heaps. 0 or -ENOMEM. The second returns the index behind
 * the last level of the heap whose first level is given.
 */
int firefox_levels(struct firefox *firefox);
size_t firefox_heap_end(const struct firefox *firefox, size_t first);

/* firefox_layout.c: numbers the rows of the tables that all threads share. */
enum { COMBO_STACKS = 1 + SURVIVALS };
enum { STACK_NONE, STACK_MINOR, STACK_MAJOR, STACK_FREED, STACK_UNKNOWN, STACK_IDLE, STACKS_FIXED };
int firefox_layout(struct firefox *firefox);
void firefox_layout_free(struct layout *layout);
uint32_t firefox_stack(const struct firefox *firefox, uint64_t stack);
/* The stack of a combo that ends in the type; with a survival, the stack below it. */
uint32_t firefox_combo_stack(const struct firefox *firefox, uint32_t combo);
uint32_t firefox_survival_stack(const struct firefox *firefox, uint32_t combo,
				enum survival survival);
uint32_t firefox_wait_stack(const struct firefox *firefox, uint32_t wait);

/* firefox_tables.c: stacks and frames. firefox_functions.c: the other shared tables. */
void firefox_put_stacks(struct firefox *firefox);
void firefox_put_frames(struct firefox *firefox);
void firefox_put_functions(struct firefox *firefox);
enum category firefox_pseudo_category(enum pseudo pseudo);
/* Index of a string, which must live as long as the model. */
uint32_t firefox_string(struct firefox *firefox, const char *text);
void firefox_put_strings(struct firefox *firefox);

/* firefox_meta.c */
void firefox_put_meta(struct firefox *firefox);

/* firefox_schema.c: constant parts: categories and marker types. */
void firefox_put_categories(struct output *output);
void firefox_put_marker_schema(struct output *output);

/* firefox_samples.c: the table of a thread's timer samples and waits. 0: an empty table. */
int firefox_put_samples(struct firefox *firefox, uint64_t thread);

/* firefox_rates.c: the tables of a process's page faults and allocations. */
int firefox_put_faults(struct firefox *firefox, uint64_t process);
int firefox_put_allocated(struct firefox *firefox, uint64_t process);

/* firefox_threads.c: the size of an object, and of those that are left out for it. */
double firefox_alloc_bytes(const struct firefox *firefox, const struct alloc_row *row);

/* firefox_threads.c, firefox_markers.c, firefox_counters.c */
int firefox_put_threads(struct firefox *firefox);
/* The pid of a process as a JSON string; a reused pid has a suffix. */
void firefox_put_pid(struct firefox *firefox, uint64_t process);
int firefox_put_markers(struct firefox *firefox, size_t track);
void firefox_put_counters(struct firefox *firefox);

/* The cells of a column, separated by commas. */
struct column {
	struct output *output;
	bool begun;
};

/* Starts the next cell. */
static inline struct output *column_cell(struct column *column)
{
	if (column->begun)
		output_bytes(column->output, ",", 1);
	column->begun = true;
	return column->output;
}

/* A column in which all cells are equal, followed by a comma. */
void firefox_put_same(struct firefox *firefox, const char *name, const char *cell, uint64_t rows);

/* Time since the start of the recording, clamped to the recording. */
static inline uint64_t firefox_time(const struct firefox *firefox, uint64_t time)
{
	const struct model_run *run = &firefox->world->model->run;

	if (time < run->start)
		return 0;
	return time - run->start < run->duration ? time - run->start : run->duration;
}

/* Valid until the next call; NULL: no memory. */
static inline struct ff_process *firefox_process(struct firefox *firefox, uint64_t process)
{
	if (array_reserve(&firefox->processes, &firefox->processes_capacity, process,
			  sizeof(*firefox->processes)) < 0)
		return NULL;
	return &firefox->processes[process];
}

#endif
