/* SPDX-License-Identifier: BSD-2-Clause */
/* rows.h: the rows of a model's tables: functions, types, sites, system calls, waits, programs. */
#ifndef GCPROF_ROWS_H
#define GCPROF_ROWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../../bpf/events.h"
#include "world/estimate.h"
#include "world/life.h"

enum runtime { RUNTIME_NATIVE = 1, RUNTIME_MANAGED, RUNTIME_KERNEL };

/*
 * Name prefix for unnamed code generated at run time: one row per process, since addresses mean
 * nothing.
 */
#define GENERATED_UNNAMED "[jit] of "

/* Name of the type of samples without one. */
#define TYPE_UNKNOWN "unknown type"

/* Kinds of work that threads do. */
enum work_kind { WORK_PROGRAM, WORK_COLLECTOR, WORK_COMPILER, WORKS };

/* Parts of a thread's wall time: TIME_OWN ... */
enum time_part {
#define TIME_PART(NAME, name, idle, words, doc) TIME_##NAME,
#include "time/time_parts.def"
	TIME_PARTS
};

/* What functions of a runtime wait for. */
enum runtime_wait { RUNTIME_LOCKS, RUNTIME_RESTS, RUNTIME_WAITS };

enum { SITE_FUNCTIONS = 3, WAIT_KINDS = 4 };

/* "call", "fault", "preempted", "stopped", numbered as in wait records. */
const char *wait_reason_name(unsigned reason);

/* struct model_function and so on. Texts may be NULL: unknown. An estimate below 0 is unknown. */
#define FIGURE_KIND(kind, type, unit)                            typedef type figure_##kind;
#define ROWS(row, rows, count, sql, doc)                         struct model_##row {
#define FIELD(row, kind, name, needs, known, heading, sort, doc) figure_##kind name;
#define AS(row, kind, member, key, needs, known, heading, sort, doc)
#define OWN(row, declaration) declaration
#define END_ROWS(row) \
	}             \
	;
#include "rows.def"

struct model_pauses {
	uint64_t count;
	uint64_t summed; /* known only from summaries, with percentiles accurate to an eighth */
	uint64_t total_ns;
	uint64_t p50_ns, p99_ns, max_ns;
	double squares;  /* sum of the squared pauses, for the spread of the total */
	uint64_t cycles; /* major only: collections, which may have many steps each */
};

/* Pauses with one of the runtime's own names. */
struct model_named_pauses {
	const char *name;
	unsigned kind; /* as numbered in gc_begin */
	struct model_pauses pauses;
};

/* A reason that a runtime defines itself. */
struct model_named_reason {
	const char *name;
	uint64_t count, total_ns;
};

/* Page faults, by the phase that the thread was in. */
struct model_faults {
	bool known;            /* minor and major are known; faults in collections always are */
	uint64_t minor, major; /* all threads: without I/O, with I/O */
	uint64_t in_minor_gc;  /* minor and major faults */
	uint64_t in_major_gc;  /* steps and full collections */
	uint64_t unknown_gcs;  /* collections without fault counts; theirs count as the program's */
	/*
	 * With the fault stream: faults with a record, and those after the last record of their
	 * thread.
	 */
	uint64_t recorded;
	uint64_t recorded_major, recorded_in_gc; /* part of recorded */
};

enum { SLOW_CALLS = 20 };

enum { LONG_PAUSES = 10, PAUSE_SITES = 5, PAUSE_CALLS = 5 };

/* A site whose objects a collection processed. Bytes are estimated from samples. */
struct pause_site {
	const char *functions[SITE_FUNCTIONS]; /* as in struct model_site */
	const char *type;
	uint32_t stack;    /* the stack with most bytes */
	double bytes;      /* allocated since the previous minor collection; see `walked` */
	double kept_bytes; /* of these, promoted */
	uint64_t samples;  /* behind these figures: kept ones if any */
};

/* A system call or wait of another thread that overlaps a pause. */
struct pause_call {
	uint64_t tid;
	const char *thread; /* name, NULL: unknown */
	uint64_t start;     /* CLOCK_MONOTONIC */
	uint64_t duration_ns, overlap_ns;
	bool is_call;     /* if false: a wait outside of calls */
	const char *text; /* name(arguments) = result, or the reason of the wait */
};

/* Totals of the parts of calls and waits that lie in a pause. */
struct pause_sums {
	uint64_t calls, call_ns;        /* of other threads, but workers */
	uint64_t futex_calls, futex_ns; /* of these: waiting for the pause to end, or for work */
	uint64_t own_call_ns;           /* calls of the collecting thread */
	uint64_t wait_ns, own_wait_ns;
	uint64_t ready_ns;  /* the collecting thread and workers: ready to run, but without a CPU */
	uint64_t traced_ns; /* traced part of the pause, if tracing had gaps */
};

/* One of the longest pauses. Without has_stats, figures of 0 are unknown. */
struct model_pause {
	uint64_t start; /* CLOCK_MONOTONIC */
	uint64_t pause_ns;
	unsigned kind, reason;                       /* as numbered in gc_begin */
	const char *name, *named_reason;             /* the runtime's own names; NULL: none */
	uint64_t heap_before, heap_after, heap_size; /* 0: unknown */
	uint64_t cycle;
	uint64_t tid, pid;  /* collecting thread */
	const char *thread; /* name, NULL: unknown */
	bool has_stats;
	uint64_t promoted_bytes, promoted_objects;
	uint64_t nursery_bytes, live_bytes;
	uint64_t stop_ns;
	/*
	 * A major collection that walked old objects: all of these count as both bytes and kept
	 * bytes.
	 */
	bool walked;
	double sampled_bytes, kept_bytes;
	bool fates; /* false: what became of objects is not known, and so not what it kept */
	uint64_t samples, kept_samples;
	struct pause_site sites[PAUSE_SITES]; /* most kept bytes first */
	size_t n_sites;
	struct pause_sums sums;
	struct pause_call own_call,
		own_wait;          /* longest of the collecting thread; text NULL: none */
	double cpu_ns, own_cpu_ns; /* from timer samples; own: with workers */
	uint64_t workers;          /* other threads that mostly collect, and did so here */
	double ticks;              /* timer ticks that fit in the pause: the resolution of these */
	/* Of each other thread, but workers, the longest call but futex, and wait. */
	struct pause_call longest[PAUSE_CALLS]; /* longest overlap first */
	size_t n_longest;
};

/* The site's share of all bytes that the pause processed. */
static inline double pause_site_share(const struct model_pause *pause,
				      const struct pause_site *site)
{
	return pause->kept_bytes > 0 ? site->kept_bytes / pause->kept_bytes
				     : site->bytes / pause->sampled_bytes;
}

#endif
