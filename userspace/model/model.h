/* SPDX-License-Identifier: BSD-2-Clause */
/* model.h: what a profile says once its records are joined; README.md explains the methods. */
/*
 * A model is plain tables, made by model_load() in one pass over the records and
 * not changed afterwards. Its memory grows with what is distinct in a profile
 * (stacks, types, threads, collections, sampled objects that are still alive),
 * not with the number of events.
 *
 * Every string is printable UTF-8: control characters, characters that reorder or
 * hide text, and bytes that are no UTF-8 stand as \xNN or \u{NNNN}. All times are
 * ns, all sizes bytes. What is estimated from samples is a double.
 */
#ifndef GCPROF_MODEL_H
#define GCPROF_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../profile/codes.h"
#include "../profile/reader.h"
#include "rows.h"

struct arena;
struct timeline;

/* Which frames are left on stacks: native ones are those of the kernel, too. */
enum model_frames { MODEL_FRAMES_ALL, MODEL_FRAMES_MANAGED, MODEL_FRAMES_NATIVE };

/* "all", "managed", "native"; -EINVAL if the word is none of these. */
const char *model_frames_name(enum model_frames frames);
int model_frames_parse(const char *word, enum model_frames *out);

/* "native", "managed", "kernel". */
const char *runtime_name(enum runtime runtime);

struct model_stream {
	const char *name;
	const char *why_not; /* NULL if attached or if the profile does not say */
	const char *partly; /* of a merged profile: which file does not have it, and why; or NULL */
	bool attached;
	uint64_t events; /* records of it in the file */
	uint64_t lost;   /* events that are missing, known so far */
	uint64_t cut;    /* events that are not whole */
	uint64_t held;   /* events left out on purpose, but counted and timed */
};

struct model_loss {
	const char *stream;
	const char *name;
	const char *text; /* the count stands before it */
	uint64_t count;
	uint32_t severity; /* enum severity */
};

enum stack_reason {
	REASON_USER_FAILED,
	REASON_USER_CUT,
	REASON_KERNEL_FAILED,
	REASON_KERNEL_CUT,
	REASON_MANAGED_TORN,
	REASON_MANAGED_CUT,
	REASON_USER_END,
	REASON_USER_GUESSED,
	REASON_LOST,
	REASON_JAVA_END,
	REASON_JAVA_FROZEN,
	STACK_REASONS
};

/* "user_failed" ... */
const char *stack_reason_name(enum stack_reason reason);

struct model_stacks {
	uint64_t samples; /* with a stack, or with a reason why there is none */
	uint64_t complete;
	uint64_t reasons[STACK_REASONS];
};

struct model_run {
	const char **command;
	size_t n_command;
	char *command_line; /* the same on one line, for people; empty: unknown */
	const char *tool, *host, *kernel, *machine, *cpus, *cpu_model; /* NULL: unknown */
	const char *attached;  /* the processes that ran already, in words; or NULL */
	uint64_t start;        /* CLOCK_MONOTONIC */
	uint64_t duration;     /* to the end, or to the last record of a profile without one */
	uint64_t wall;         /* the part of it that a filter selects by time */
	uint64_t realtime;     /* of the start, ns since 1970; 0: unknown */
	uint64_t frequency;    /* of the timer; 0: none */
	uint64_t syscall_rate; /* short calls recorded one by one, a second and CPU; 0: none */
	uint64_t files;        /* that it was merged of; 0: it was not */
	uint64_t recordings;   /* that these are of */
	uint64_t incomplete;   /* files of which something is missing */
	uint64_t part;         /* number of the file of a recording in several, from 1; else 0 */
	uint64_t end_reason;   /* as in the end record; 0: there is none */
	uint64_t status;       /* wait status, only with END_EXITED */
};

struct model_alloc {
	uint64_t samples;
	uint64_t period;                 /* asked for, or the first in force; 0: unknown */
	uint64_t period_min, period_max; /* that samples carry */
	uint64_t period_changes;         /* because of the ceiling on samples a second */
	struct estimate bytes;
	struct estimate objects;
	double live_bytes;
	struct estimate live; /* the same, with its interval */
};

/* The least share of any span of time this long that the program had for itself. */
struct model_utilisation {
	uint64_t window_ns;
	double minimum; /* 0..1 */
};

enum { UTILISATIONS_MAX = 16, GC_REASONS = 7 };

struct model_gc {
	struct model_pauses minor, major; /* major: steps and full collections */
	struct model_pauses others;       /* stops in which nothing was collected */
	struct model_pauses concurrent;   /* no pauses: cycles of concurrent collectors */
	struct model_pauses stops;        /* those that follow each other at once are one */
	uint64_t processes;               /* that had pauses */
	uint64_t promoted_bytes;
	uint64_t heap_peak_bytes;      /* of the largest heap */
	uint64_t rss_peak_bytes;       /* of the largest process, at the end of a collection */
	uint64_t stop_ns, stop_max_ns; /* of the pauses: until every thread had stopped */
	uint64_t unpaired;       /* collections of which only the beginning or the end is there */
	double fixed_ns;         /* of a minor collection, fitted: the same for each */
	double copy_ns_per_byte; /* and for each byte that it promotes */
	double no_samples_ns;    /* pauses that no sample is there to be charged with */
	uint64_t promoted_objects;
	uint64_t unreachable;   /* objects that collections found */
	uint64_t nursery_bytes; /* the fullest that a minor collection found */
	struct {
		uint64_t count, total_ns;
	} reasons[GC_REASONS];            /* why collections began, as gc_begin numbers it */
	struct model_named_pauses *named; /* of the above, those to which a runtime gave names */
	size_t n_named;
	struct model_named_reason *named_reasons; /* most time first; besides `reasons` */
	size_t n_named_reasons;
	struct model_utilisation utilisation[UTILISATIONS_MAX]; /* of the process with least */
	size_t n_utilisation;
};

/* All that is reported as a pause, and how long it took together. */
static inline uint64_t model_gc_count(const struct model_gc *gc)
{
	return gc->minor.count + gc->major.count + gc->others.count;
}

static inline double model_gc_ns(const struct model_gc *gc)
{
	return (double)gc->minor.total_ns + (double)gc->major.total_ns +
	       (double)gc->others.total_ns;
}

struct model_cpu {
	uint64_t records; /* one may stand for several samples */
	uint64_t samples, gc_samples;
	double squares;              /* of the ns that each record stands for, added up */
	bool exact;                  /* the profile has the scheduler's account */
	uint64_t on_cpu_ns;          /* by it, if so */
	uint64_t in_gc_ns;           /* of it, by timer samples and sums of collections */
	uint64_t work_ns[WORKS];     /* of the rest, by timer samples, whose work it was */
	uint64_t user_ns, kernel_ns; /* where timer samples found it */
	uint64_t no_samples_ns;      /* of it: no sample stands for it */
	bool queue_known;
	uint64_t queued_ns; /* beside it: threads could have run, but had no CPU */
	/* Of it: in the recorder's BPF programs and on the way to them; in no function and in
	 * neither of the above, unless the view wants it so. */
	uint64_t recording_ns;
};

/* CPU time of collectors: in pauses, on the thread that reports them, and outside. */
static inline double model_collector_ns(const struct model_cpu *cpu)
{
	return (double)cpu->in_gc_ns + (double)cpu->work_ns[WORK_COLLECTOR];
}

/* For how long system calls were traced, where that was not always. */
struct model_tracing {
	bool gaps;      /* there were times when they were not; else the rest is 0 */
	bool estimated; /* totals include estimates of what was not traced */
	uint64_t windows;
	uint64_t traced_ns, untraced_ns;
	struct estimate count, time; /* of all calls, as syscall_count and syscall_ns */
};

/* 0..1: of the time of recording that windows and gaps make up; 1 without gaps. */
static inline double model_coverage(const struct model_tracing *tracing)
{
	return tracing->gaps ? (double)tracing->traced_ns /
				       ((double)tracing->traced_ns + (double)tracing->untraced_ns)
			     : 1;
}

struct model {
	const char *file;
	enum model_frames frames; /* on stacks */
	enum profile_state state;
	struct profile_status status;
	const char *filter; /* what is selected, as text; NULL: everything */
	uint64_t refused;   /* records that contradict others and were left out */
	struct model_run run;
	struct model_alloc alloc;
	struct model_gc gc;
	struct model_cpu cpu;
	struct model_stacks stacks;
	struct model_stream *streams; /* in the order of their codes */
	size_t n_streams;
	struct model_loss *losses; /* with a count */
	size_t n_losses;
	struct model_function *functions; /* most costly first */
	size_t n_functions;
	struct model_type *types; /* most bytes first */
	size_t n_types;
	struct model_site *sites; /* most collection time first */
	size_t n_sites;
	size_t n_sites_found;           /* with those that got no row because there are too many */
	struct timeline *timeline;      /* see timeline.h */
	struct model_syscall *syscalls; /* longest in total first */
	size_t n_syscalls;
	struct model_slow_call slow_calls[SLOW_CALLS]; /* longest first */
	size_t n_slow_calls;
	uint64_t syscall_count, syscall_ns, syscall_gc_ns, syscall_stack_ns; /* sums */
	struct model_tracing tracing;
	/* Of a selection: calls of which it is not known how many are selected, in no row; and
	 * whether it has time in which none were traced, of which none can tell. */
	double calls_left_out;
	bool calls_untraced;
	struct model_wait *waits; /* longest in total first */
	size_t n_waits;
	struct model_waker *wakers; /* who kept others longest first */
	size_t n_wakers;
	uint64_t wait_ns, wait_stack_ns; /* sums: all, those with a stack */
	struct model_faults faults;
	struct model_gc_cycle *gc_cycles; /* in the order of their ends */
	size_t n_gc_cycles;
	struct model_entry *entries; /* most CPU time first */
	size_t n_entries;
	struct model_heap {
		bool known;
		double objects, bytes, before;
		struct model_heap_row *rows; /* most bytes first */
		size_t n_rows;
	} heap;                         /* by the heap profiles that runtimes keep themselves */
	bool threads_move;              /* a runtime runs its threads on any of the system's */
	struct model_runtime *runtimes; /* and providers of probes */
	size_t n_runtimes;
	struct model_pause *pauses; /* longest first */
	size_t n_pauses;
	struct model_thread *threads; /* most CPU time first */
	size_t n_threads;
	struct model_program *programs; /* most CPU time first */
	size_t n_programs;
	struct arena *arena; /* private: owns the strings */
};

/* NULL is allowed. */
void model_free(struct model *model);

#endif
