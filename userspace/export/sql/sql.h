/* SPDX-License-Identifier: BSD-2-Clause */
/* sql.h: private to sql*.c and query.c: filling a database from a profile. */
#ifndef GCPROF_SQL_H
#define GCPROF_SQL_H

#include "../../model/event.h"
#include "../../model/world/world.h"
#include "../../util/map.h"
#include "database.h"
#include "../export.h"

enum { PENDING_MAX = 16 };

/* The state of a process with which its next events are joined. */
struct sql_process {
	uint64_t minors;     /* minor collections that have ended */
	const char *phase;   /* of the major collector; NULL: unknown */
	uint64_t collection; /* id of the last one that began */
	uint64_t gc_start;   /* its start, */
	uint64_t gc_finish;  /* and its end; 0: not ended */
};

/* The latest events of a thread. The next system call to return may turn out to contain them. */
struct sql_pending {
	uint32_t count;
	struct {
		uint64_t id, time;
	} items[PENDING_MAX];
};

struct sql_thread {
	struct sql_pending ticks; /* in the kernel */
	struct sql_pending waits; /* in system calls */
};

struct sql_phase {
	uint64_t process, heap, start, code;
};

struct sql {
	struct export_job job; /* must be first */
	struct database *database;
	struct sql_process *processes; /* by id */
	size_t processes_capacity;
	struct sql_thread *threads; /* by id */
	size_t threads_capacity;
	struct map *living;      /* {process, sample} -> samples.id, until known to be dead */
	struct map *collections; /* {thread, start} -> collections.id */
	struct map *phase_index; /* {process, heap} -> index of its phase */
	struct sql_phase *phases;
	size_t n_phases, phases_capacity;
	uint64_t n_rows[SQL_TABLES]; /* the last id of each table */
	struct sqlite3_stmt *first_fate, *death, *tick_in_syscall, *wait_in_syscall;
};

/* Creates a model observer that fills `database`, which is borrowed. 0, -ENOMEM or -EIO. */
int sql_create(struct database *database, struct sql **out);
void sql_free(struct sql *sql); /* NULL is allowed */

/* A job's step after the last record: stores the remaining rows. */
int sql_fill(struct model_observer *observer, const struct world *world);

/* A job with its own database whose last step is `finish`, which must call sql_fill(). */
int sql_create_job(int (*finish)(struct model_observer *, const struct world *),
		   struct export_job **out);

/* sql_events.c: rows of events, as they arrive. */
int sql_event(struct sql *sql, const struct world *world, const struct event *event);

/* sql_gc.c: collections and phases, and the position of events in them. */
int sql_gc_begin(struct sql *sql, const struct world *world, const struct record_gc_begin *record);
int sql_gc_summary(struct sql *sql, const struct world *world, const struct event *event);
int sql_gc_end(struct sql *sql, const struct world *world, const struct event *event);
int sql_heap_area(struct sql *sql, const struct world *world, const struct event *event);
int sql_phase(struct sql *sql, const struct world *world, const struct record_phase *record);
int sql_gc_finish(struct sql *sql, const struct world *world);

/* The current collection of the event's thread: collections.id; 0: none. */
uint64_t sql_collection_of(const struct sql *sql, const struct event *event, uint64_t thread);

/* The process's last collection, if it overlaps the interval: id; 0: none. */
uint64_t sql_collection_during(const struct sql_process *process, uint64_t start, uint64_t finish);

/* sql_tables.c: rows of the model's results. */
int sql_tables(struct sql *sql, const struct world *world);

/* The next id of a table. */
static inline uint64_t sql_next(struct sql *sql, enum sql_table table)
{
	return ++sql->n_rows[table];
}

/* For a process that the model knows. NULL: no memory. Valid until the next call. */
static inline struct sql_process *sql_process(struct sql *sql, uint64_t process)
{
	return array_reserve(&sql->processes, &sql->processes_capacity, process,
			     sizeof(*sql->processes)) < 0
		       ? NULL
		       : &sql->processes[process];
}

/* The name of a code in a list; NULL if the list has none. */
#define sql_name(names, code) ((code) < sizeof(names) / sizeof(*(names)) ? (names)[(code)] : NULL)

#endif
