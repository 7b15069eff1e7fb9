/* SPDX-License-Identifier: BSD-2-Clause */
/* rows.h: what a model has many of: functions, types, sites, system calls, waits, programs. */
#ifndef GCPROF_ROWS_H
#define GCPROF_ROWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "world/estimate.h"
#include "world/life.h"

enum runtime { RUNTIME_NATIVE = 1, RUNTIME_MANAGED, RUNTIME_KERNEL };

/* Code that a process made at run time and gave no name: one row, since addresses say nothing. */
#define GENERATED_UNNAMED "[jit] of "

/* Of what a thread does. */
enum work_kind { WORK_PROGRAM, WORK_COLLECTOR, WORK_COMPILER, WORKS };

struct model_function {
	const char *name;
	const char *module; /* path; of a managed function its source file; NULL: none */
	const char *file;   /* source, NULL: unknown */
	uint64_t line;      /* where it begins there, 0: unknown */
	enum runtime runtime;
	enum work_kind work;  /* it was met in no other */
	uint64_t cpu_samples; /* timer samples with the function anywhere on the stack */
	double cpu_self_ns;
	double cpu_total_ns;
	double alloc_self_bytes;
	double alloc_total_bytes;
	double survived_bytes;       /* of alloc_self_bytes */
	double survived_total_bytes; /* of alloc_total_bytes */
	double known_bytes;          /* of alloc_self_bytes: what became of them is known */
	double known_total_bytes;
	double gc_self_ns;       /* collection time that its own allocations caused */
	double gc_ns;            /* and those of what it calls as well */
	double syscall_ns;       /* calls with a stack that it or what it calls made */
	double syscall_self_ns;  /* of those, where it is the innermost function */
	double off_cpu_ns;       /* waits with a stack, of it or what it calls */
	double off_cpu_self_ns;  /* of those, where it is the innermost function */
	uint64_t faults;         /* page faults of it or what it calls */
	uint64_t faults_self;    /* of those, where it is the innermost user function */
	uint64_t gc_faults_self; /* of these, in collections */
	double rank;             /* by which rows are sorted: README.md */
	struct estimate alloc_self, alloc_total; /* the bytes above with their intervals */
	struct estimate survived;                /* share of known_bytes; value < 0: unknown */
};

struct model_type {
	const char *name;
	uint64_t samples;
	struct estimate bytes;
	struct estimate objects;
	struct estimate survived; /* share of objects, 0..1; value < 0: unknown */
	uint64_t fates;           /* samples whose first fate is known */
	double live_bytes;        /* sampled objects old and not known dead at the end */
	double gc_ns;             /* collection time that they caused */
	struct life life;         /* what became of them, and at what age */
};

enum { SITE_FUNCTIONS = 3 };

/* Where objects are allocated: a function and its callers. */
struct model_site {
	const char *functions[SITE_FUNCTIONS]; /* the allocating one first; NULL: no more */
	const char *file;                      /* of the first one, NULL: unknown */
	uint64_t line;                         /* 0: unknown */
	const char *type;                      /* NULL: several */
	double gc_ns;                          /* collection time charged to them */
	struct estimate bytes;
	struct estimate survived; /* share of the bytes; value < 0: unknown */
	struct life life;
};

struct model_pauses {
	uint64_t count;
	uint64_t summed; /* of these: known as sums; percentiles have them to within an eighth */
	uint64_t total_ns;
	uint64_t p50_ns, p99_ns, max_ns;
	double squares;  /* sum of the squares of all pauses: how much one of them weighs */
	uint64_t cycles; /* major only: collections, however many steps each took */
};

/* Pauses that a runtime calls by this name. */
struct model_named_pauses {
	const char *name;
	unsigned kind; /* as gc_begin numbers it */
	struct model_pauses pauses;
};

/* A reason that only a runtime knows, by its name. */
struct model_named_reason {
	const char *name;
	uint64_t count, total_ns;
};

/* A cycle of a concurrent collector, pauses and all. Of figures 0 is unknown. */
struct model_gc_cycle {
	uint64_t start; /* CLOCK_MONOTONIC */
	uint64_t duration_ns;
	uint64_t process, pid;
	uint64_t heap, cycle;
	uint64_t name_number, reason;    /* as in the record */
	const char *name, *named_reason; /* NULL: none */
	uint64_t heap_before, heap_after, live;
	uint64_t pauses, pause_ns; /* that began in it */
	bool unfinished;           /* when the recording ended */
};

/* What all stacks cost that begin with this function of the program. */
struct model_entry {
	const char *name;   /* "(none)": of stacks that have no such function */
	const char *module; /* as of a struct model_function */
	uint64_t cpu_samples;
	uint64_t fibers; /* goroutines, say: different ones that events show */
	double cpu_ns, alloc_bytes, gc_ns;
	double syscall_ns, off_cpu_ns; /* of calls and waits with a stack */
};

/* What is alive that a function allocated, by the runtime's own heap profile. */
struct model_heap_row {
	const char *name;   /* "(none)": it has none */
	const char *module; /* as of a struct model_function */
	double objects, bytes;
	double before; /* bytes when the recorder came to programs that ran already */
};

/* A runtime that was recorded without probes of ours, or a provider of probes. */
struct model_runtime {
	uint64_t process, pid;
	uint64_t provider;          /* its number in the process, from 1; 0: it has no probes */
	const char *name, *version; /* not NULL */
	const char *note;           /* what its sampler does not see; NULL: nothing */
	const char *work[WORKS];    /* functions in which it is done; NULL: none */
};

struct model_syscall {
	const char *name;
	uint64_t number; /* bit 31: of the 32-bit table */
	uint64_t count, errors;
	uint64_t total_ns, p50_ns, p99_ns, max_ns;
	uint64_t in_gc_count, in_gc_ns;
	const uint64_t *histogram; /* SYSCALL_BUCKETS: how many took so long; NULL: not known */
	double squares;            /* sum of the squares of all durations, from the histogram */
	uint64_t waits, wait_ns;   /* of total_ns: off the CPU until something happened */
	uint64_t cpu_ns;           /* CPU time in the kernel, by timer samples */
	/* Of estimated ones percentiles, the longest, histogram and squares are of the calls that
	 * were traced. */
	bool estimated;
	uint64_t traced; /* of count; all of them unless estimated */
	uint64_t traced_waits, traced_wait_ns, wait_max;
	struct estimate calls, time; /* count and total_ns with their intervals */
};

/* What threads waited for. */
struct model_wait {
	const char *name; /* the system call's, or the reason's */
	const char *reason;
	uint64_t count;
	uint64_t total_ns;
	uint64_t max_ns; /* 0: unknown */
	/* Of total_ns: they could have run, but had no CPU. As far as it is known: of records. */
	uint64_t queued_ns;
};

/* A thread that ended waits of others for a futex. */
struct model_waker {
	const char *name; /* NULL: unknown */
	uint64_t tid, pid;
	uint64_t count, total_ns, max_ns; /* of the waits with a record */
};

enum { WAIT_KINDS = 4 };

/* "call", "fault", "preempted", "stopped": as wait records number them. */
const char *wait_reason_name(unsigned reason);

/* Page faults, and the phases that their threads were in. */
struct model_faults {
	bool known;            /* of the threads; in collections they always are */
	uint64_t minor, major; /* of all threads: without reading, with */
	uint64_t in_minor_gc;  /* of both kinds */
	uint64_t in_major_gc;  /* steps and full collections */
	uint64_t unknown_gcs;  /* collections whose faults are not known: theirs are elsewhere */
	/* With the fault stream, those with a record or after the last one of their thread. */
	uint64_t recorded;
	uint64_t recorded_major, recorded_in_gc; /* of them */
};

/* One of the longest calls that were recorded. */
struct model_slow_call {
	uint64_t tid;
	const char *thread; /* its name, NULL: unknown */
	uint64_t start;     /* CLOCK_MONOTONIC */
	uint64_t duration_ns, gc_ns;
	const char *text; /* name(arguments) = result */
};

enum { SLOW_CALLS = 20 };

enum { LONG_PAUSES = 10, PAUSE_SITES = 5, PAUSE_CALLS = 5 };

/* Who allocated what a collection dealt with: bytes that the samples stand for. */
struct pause_site {
	const char *functions[SITE_FUNCTIONS]; /* as of a struct model_site */
	const char *type;
	uint32_t stack;    /* of the profile, the one with most of it */
	double bytes;      /* allocated since the minor collection before; see walked */
	double kept_bytes; /* of these, promoted */
	uint64_t samples;  /* that told so: kept ones, if any */
};

/* A system call or a wait of another thread that lay in a pause, or part of it did. */
struct pause_call {
	uint64_t tid;
	const char *thread; /* its name, NULL: unknown */
	uint64_t start;     /* CLOCK_MONOTONIC */
	uint64_t duration_ns, overlap_ns;
	bool is_call;     /* else a wait outside of calls */
	const char *text; /* name(arguments) = result, or the reason of the wait */
};

/* What lay in a pause: parts of it. */
struct pause_sums {
	uint64_t calls, call_ns;        /* of other threads */
	uint64_t futex_calls, futex_ns; /* of these: threads wait there for its end, or for work */
	uint64_t own_call_ns;           /* of the collecting thread; and off the CPU: */
	uint64_t wait_ns, own_wait_ns;
	uint64_t traced_ns; /* where calls were not always traced: they were */
};

/* One of the longest pauses. Of figures of the collection 0 is unknown where has_stats is not. */
struct model_pause {
	uint64_t start; /* CLOCK_MONOTONIC */
	uint64_t pause_ns;
	unsigned kind, reason;           /* as gc_begin numbers them */
	const char *name, *named_reason; /* as the runtime calls them; NULL: it does not */
	uint64_t heap_before, heap_after, heap_size; /* 0: unknown */
	uint64_t cycle;
	uint64_t tid, pid;  /* the collecting thread */
	const char *thread; /* its name, NULL: unknown */
	bool has_stats;
	uint64_t promoted_bytes, promoted_objects;
	uint64_t nursery_bytes, live_bytes;
	uint64_t stop_ns;
	/* Of a major collection that walked old objects all of these count, as bytes and kept. */
	bool walked;
	double sampled_bytes, kept_bytes;
	uint64_t samples, kept_samples;
	struct pause_site sites[PAUSE_SITES]; /* most kept first */
	size_t n_sites;
	struct pause_sums sums;
	struct pause_call own_call,
		own_wait;          /* longest of the collecting thread; text NULL: none */
	double cpu_ns, own_cpu_ns; /* by timer samples */
	double ticks;              /* of the timer in the pause: how much these may be off */
	struct pause_call longest[PAUSE_CALLS]; /* longest part first, no futex */
	size_t n_longest;
};

/* The part that a site has of all that a pause dealt with. */
static inline double pause_site_share(const struct model_pause *pause,
				      const struct pause_site *site)
{
	return pause->kept_bytes > 0 ? site->kept_bytes / pause->kept_bytes
				     : site->bytes / pause->sampled_bytes;
}

/* All processes of one name: what runs beside it, a shell starts, or a system is busy with. */
struct model_program {
	const char *name; /* NULL: unknown */
	uint64_t pid;     /* of one of them */
	uint64_t processes, threads;
	uint64_t cpu_samples, gc_samples, alloc_samples;
	double cpu_ns, gc_cpu_ns;
	struct tally allocated;
	struct estimate alloc; /* of it */
	uint64_t pauses, pause_ns;
	double calls, call_ns; /* its part of all system calls, as the table of these has them */
	uint64_t minor_faults, major_faults; /* of threads whose end is known */
};

struct model_thread {
	const char *name;  /* NULL: unknown */
	const char *title; /* of its process: command line, or what it wrote over it; likewise */
	uint64_t tid, pid;
	uint64_t cpu_samples, gc_samples, alloc_samples; /* gc: of cpu_samples, in a collection */
	double cpu_ns;    /* by the scheduler's account, if the profile has it */
	double gc_cpu_ns; /* by timer samples, and all of the collections known as sums */
	double alloc_bytes;
	struct estimate alloc; /* the same with its interval */
	bool ended;            /* what follows is known */
	bool waits_known;      /* and so is the time off the CPU */
	uint64_t wall_ns;      /* that it was recorded for */
	uint64_t off_cpu_ns;   /* of that; the rest is on a CPU */
	bool queue_known;
	uint64_t queued_ns; /* of wall_ns: it could have run, but had no CPU */
	uint64_t waits[WAIT_KINDS], wait_ns[WAIT_KINDS];
	uint64_t minor_faults, major_faults;
};

#endif
