/* SPDX-License-Identifier: BSD-2-Clause */
/* rows.h: the rows of a model's tables: functions, types, sites, system calls, waits, programs. */
#ifndef GCPROF_ROWS_H
#define GCPROF_ROWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "heap_rows.h"
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

struct model_function {
	const char *name;
	const char *module; /* path; source file for managed functions; NULL: none */
	const char *file;   /* source file, NULL: unknown */
	uint64_t line;      /* first line of the function, 0: unknown */
	enum runtime runtime;
	enum work_kind work;  /* if it occurs in only one kind */
	uint64_t cpu_samples; /* timer samples with the function anywhere on the stack */
	double cpu_self_ns;
	double cpu_total_ns;
	double alloc_self_bytes;
	double alloc_total_bytes;
	double survived_bytes;       /* part of alloc_self_bytes */
	double survived_total_bytes; /* part of alloc_total_bytes */
	double known_bytes;          /* part of alloc_self_bytes whose outcome is known */
	double known_total_bytes;
	double gc_self_ns;       /* collection time caused by its own allocations */
	double gc_ns;            /* also by those of its callees */
	double syscall_ns;       /* calls with a stack, by it or its callees */
	double syscall_self_ns;  /* of those, where it is the innermost function */
	double off_cpu_ns;       /* waits with a stack, of it or its callees */
	double off_cpu_self_ns;  /* of those, where it is the innermost function */
	uint64_t faults;         /* page faults of it or its callees */
	uint64_t faults_self;    /* of those, where it is the innermost user function */
	uint64_t gc_faults_self; /* of these, in collections */
	double rank;             /* sort key, see README.md */
	struct estimate alloc_self, alloc_total; /* the bytes above, with intervals */
	struct estimate survived;                /* share of known_bytes; value < 0: unknown */
};

struct model_type {
	const char *name;
	uint64_t samples;
	struct estimate bytes;
	struct estimate objects;
	struct estimate survived; /* share of objects, 0..1; value < 0: unknown */
	uint64_t fates;           /* samples whose first outcome is known */
	double live_bytes; /* sampled objects that are old and not known to be dead at the end */
	double gc_ns;      /* collection time that the objects caused */
	struct life life;  /* outcomes and ages */
};

enum { SITE_FUNCTIONS = 3 };

/* An allocation site: a function and its nearest callers. */
struct model_site {
	const char *functions[SITE_FUNCTIONS]; /* the allocating one first; NULL: no more */
	const char *file;                      /* of the first function, NULL: unknown */
	uint64_t line;                         /* 0: unknown */
	const char *type;                      /* NULL: several types */
	double gc_ns;                          /* collection time charged to the site */
	struct estimate bytes;
	struct estimate survived; /* share of the bytes; value < 0: unknown */
	struct life life;
};

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

/* Total cost of all stacks that begin with this function of the program. */
struct model_entry {
	const char *name;   /* "(none)": stacks without such a function */
	const char *module; /* as in struct model_function */
	uint64_t cpu_samples;
	uint64_t fibers; /* distinct fibers (goroutines, for example) seen in events */
	double cpu_ns, alloc_bytes, gc_ns;
	double syscall_ns, off_cpu_ns; /* calls and waits with a stack */
};

/* A runtime that is recorded without gcprof's probes, or a provider of probes. */
struct model_runtime {
	uint64_t process, pid;
	uint64_t provider; /* number within the process, from 1; 0: a runtime without probes */
	uint64_t period;   /* the shortest of its samples; 0: none */
	const char *name, *version; /* not NULL */
	const char *note;           /* what its sampler misses; NULL: nothing */
	bool unsampled;             /* no samples of it here; `note` says why */
	const char *program;        /* of its process, then; not NULL */
	bool names_file;            /* its compiled functions are in the program's file */
	const char *names;          /* how its compiled functions get names; NULL: not known */
	const char *work[WORKS];    /* functions that do this kind of work; NULL: none */
};

struct model_syscall {
	const char *name;
	uint64_t number; /* bit 31: from the 32-bit table */
	uint64_t count, errors;
	uint64_t total_ns, p50_ns, p99_ns, max_ns;
	uint64_t in_gc_count, in_gc_ns;
	const uint64_t *histogram; /* SYSCALL_BUCKETS counts by duration; NULL: unknown */
	double squares;            /* sum of the squared durations, from the histogram */
	uint64_t waits, wait_ns;   /* part of total_ns: blocked off the CPU */
	uint64_t cpu_ns;           /* in the kernel, from timer samples */
	/* If estimated: percentiles, max_ns, histogram and squares cover traced calls only. */
	bool estimated;
	uint64_t traced; /* part of count; equals it unless estimated */
	uint64_t traced_waits, traced_wait_ns, wait_max;
	struct estimate calls, time; /* count and total_ns with intervals */
};

/* Waits by cause. */
struct model_wait {
	const char *name; /* of the system call, or of the reason */
	const char *reason;
	uint64_t count;
	uint64_t total_ns;
	uint64_t max_ns; /* 0: unknown */
	/* Part of total_ns: runnable without a CPU. Known only for waits with a record. */
	uint64_t queued_ns;
};

/* A thread that ended other threads' waits for a futex. */
struct model_waker {
	const char *name; /* NULL: unknown */
	uint64_t tid, pid;
	uint64_t count, total_ns, max_ns; /* waits with a record */
};

enum { WAIT_KINDS = 4 };

/* "call", "fault", "preempted", "stopped", numbered as in wait records. */
const char *wait_reason_name(unsigned reason);

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

/* One of the longest calls with a record. */
struct model_slow_call {
	uint64_t tid;
	const char *thread; /* name, NULL: unknown */
	uint64_t start;     /* CLOCK_MONOTONIC */
	uint64_t duration_ns, gc_ns;
	const char *text; /* name(arguments) = result */
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
	uint64_t calls, call_ns;        /* of other threads */
	uint64_t futex_calls, futex_ns; /* of these: waiting for the pause to end, or for work */
	uint64_t own_call_ns;           /* calls of the collecting thread */
	uint64_t wait_ns, own_wait_ns;
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
	double cpu_ns, own_cpu_ns; /* from timer samples */
	double ticks;              /* timer ticks that fit in the pause: the resolution of these */
	struct pause_call longest[PAUSE_CALLS]; /* longest overlap first, without futex */
	size_t n_longest;
};

/* The site's share of all bytes that the pause processed. */
static inline double pause_site_share(const struct model_pause *pause,
				      const struct pause_site *site)
{
	return pause->kept_bytes > 0 ? site->kept_bytes / pause->kept_bytes
				     : site->bytes / pause->sampled_bytes;
}

/* All processes with the same name. */
struct model_program {
	const char *name; /* NULL: unknown */
	uint64_t pid;     /* of one of the processes */
	uint64_t processes, threads;
	uint64_t cpu_samples, gc_samples, alloc_samples;
	double cpu_ns, gc_cpu_ns;
	struct tally allocated;
	struct estimate alloc; /* estimate from `allocated` */
	uint64_t pauses, pause_ns;
	double calls, call_ns;               /* share of all system calls, including estimates */
	uint64_t minor_faults, major_faults; /* of threads whose end is known */
};

struct model_thread {
	const char *name;  /* NULL: unknown */
	const char *title; /* command line of the process, or the title it set; NULL: unknown */
	uint64_t tid, pid;
	uint64_t cpu_samples, gc_samples, alloc_samples; /* gc: those in a collection */
	double cpu_ns;    /* from the scheduler's accounting if available */
	double gc_cpu_ns; /* from timer samples, plus collections known only from summaries */
	double alloc_bytes;
	struct estimate alloc; /* alloc_bytes with its interval */
	bool ended;            /* the fields below are known */
	bool waits_known;      /* off_cpu_ns and waits are known, too */
	uint64_t wall_ns;      /* recorded time of the thread */
	uint64_t off_cpu_ns;   /* part of wall_ns; the rest is on a CPU */
	bool queue_known;
	uint64_t queued_ns; /* part of wall_ns: runnable without a CPU */
	uint64_t waits[WAIT_KINDS], wait_ns[WAIT_KINDS];
	uint64_t minor_faults, major_faults;
};

#endif
