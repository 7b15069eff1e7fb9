/* SPDX-License-Identifier: BSD-2-Clause */
/* model.h: the result of loading a profile; README.md explains the methods. */
/*
 * A model consists of plain tables. model_load() builds them in one pass over the records; they
 * do not change afterwards. Memory grows with the number of distinct stacks, types, threads,
 * collections and live sampled objects, not with the number of events.
 *
 * All strings are printable UTF-8: control characters, characters that reorder or hide text, and
 * invalid bytes are escaped as \xNN or \u{NNNN}. Times are in ns, sizes in bytes. Estimates from
 * samples are doubles.
 */
#ifndef GCPROF_MODEL_H
#define GCPROF_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "../profile/codes.h"
#include "../profile/paused.h"
#include "../profile/reader.h"
#include "rows.h"
#include "world/caused.h"

struct arena;
struct timeline;

/* Which frames to keep on stacks. Native includes the kernel's. */
enum model_frames { MODEL_FRAMES_ALL, MODEL_FRAMES_MANAGED, MODEL_FRAMES_NATIVE };

/* "all", "managed", "native". Parsing returns -EINVAL for any other word. */
const char *model_frames_name(enum model_frames frames);
int model_frames_parse(const char *word, enum model_frames *out);

/* "native", "managed", "kernel". */
const char *runtime_name(enum runtime runtime);

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
	REASON_NARROW,
	STACK_REASONS
};

/* "user_failed" ... */
const char *stack_reason_name(enum stack_reason reason);

struct model_stacks {
	uint64_t samples; /* with a stack, or with a reason for having none */
	uint64_t complete;
	uint64_t reasons[STACK_REASONS];
	uint64_t guessed_generated; /* REASON_USER_GUESSED with code that was made at run time */
	uint64_t guessed_early;     /* the same in the first seconds, while gcprof read the files */
};

struct model_run {
	const char **command;
	size_t n_command;
	char *command_line; /* the same as one printable line; empty: unknown */
	const char *tool, *host, *kernel, *machine, *cpus, *cpu_model; /* NULL: unknown */
	const char *attached, *children; /* what ran already, and how many others it had started */
	const char *user;                /* of all recorded processes, as text; NULL: unknown */
	const char *snapshot;            /* why it was taken, as text; NULL: it is none */
	uint64_t start;                  /* CLOCK_MONOTONIC */
	uint64_t duration;  /* until the end record, or the last record if there is none */
	uint64_t wall;      /* the part that was recorded and that the filter's time terms select */
	uint64_t paused_ns; /* sum of `paused`; 0 if it was merged from several recordings */
	struct paused_time *paused;
	size_t n_paused;
	uint64_t realtime;     /* start, ns since 1970; 0: unknown */
	uint64_t frequency;    /* of the timer, Hz; 0: no timer */
	uint64_t syscall_rate; /* single records of short calls, a second and CPU; 0: no limit */
	uint64_t files;        /* it was merged from; 0: not merged */
	uint64_t recordings;   /* that these belong to */
	uint64_t incomplete;   /* files with something missing */
	uint64_t part;         /* number of a file of several, from 1; else 0 */
	uint64_t end_reason;   /* as in the end record; 0: no end record */
	uint64_t status;       /* wait status; only with END_EXITED */
	uint64_t memory_limit, memory_used; /* bytes of its control groups; limit 0: unknown */
};

/* The user of all recorded processes, if a profile that this user or root owns says so. */
#define USER_UNKNOWN ((uid_t)-1)
struct model;
uid_t model_user(const struct model *model);

/* Whether the recording was made on this host; false also if that is unknown. */
bool model_is_of_this_host(const struct model_run *run);

struct model_alloc {
	uint64_t samples;
	uint64_t fates;                  /* samples whose first outcome is known */
	uint64_t lost_fates;             /* of which nothing is known from some time on */
	uint64_t period;                 /* requested, or the first in force; 0: unknown */
	uint64_t period_min, period_max; /* found in samples */
	uint64_t period_changes;         /* made to stay below the ceiling on samples per second */
	struct estimate bytes;
	struct estimate objects;
	double live_bytes;
	struct estimate live; /* live_bytes with its interval */
	bool live_known;      /* of some sample is known what became of it, or there is none */
	bool live_collected;  /* a collector decides when some of those objects die */
	bool typed;           /* the type of some sample is known */
	bool collected;       /* some sample is an object that collections process */
};

/*
 * Minimum mutator utilisation: the smallest share of any window of this length that pauses left
 * to the program.
 */
struct model_utilisation {
	uint64_t window_ns;
	double minimum; /* 0..1 */
};

enum { UTILISATIONS_MAX = 16, GC_REASONS = 7 };

struct model_gc {
	struct model_pauses minor, major; /* major: steps and full collections */
	struct model_pauses others;       /* stops without a collection */
	struct model_pauses around;       /* stops around other pauses, without the time of those;
					     they are no pauses of their own */
	struct model_pauses concurrent;   /* cycles of concurrent collectors, not pauses */
	struct model_pauses stops;        /* pauses in the same stop count as one */
	uint64_t processes;               /* that had pauses */
	bool promoted_known;              /* some pause reported what it promoted */
	uint64_t promoted_bytes;
	uint64_t heap_peak_bytes;      /* of the largest heap */
	uint64_t rss_peak_bytes;       /* of the largest process, at the end of a collection */
	uint64_t stop_ns, stop_max_ns; /* part of the pauses: time until all threads had stopped */
	uint64_t unpaired;             /* collections whose begin or end is missing */
	double fixed_ns;               /* estimated: fixed cost of a minor collection */
	double copy_ns_per_byte;       /* estimated: cost per promoted byte */
	uint64_t parts_ns[GC_PARTS];   /* CPU time of the collector's parts, from timer samples */
	uint64_t parts_samples;
	double spent_ns; /* CPU time of all collectors, selected or not */
	/*
	 * What collections cost and is charged to no object: CPU time, or pauses if there are no
	 * timer samples. 0 with a filter.
	 */
	double unattributed_ns, unattributed[UNATTRIBUTED];
	bool pauses_charged; /* there are no timer samples */
	struct model_gc_paces paces;
	uint64_t promoted_objects;
	uint64_t unreachable;   /* objects found unreachable */
	uint64_t freed_bytes;   /* by pauses that report the heap before and after */
	uint64_t nursery_bytes; /* largest nursery use at a minor collection */
	struct {
		uint64_t count, total_ns;
	} reasons[GC_REASONS];            /* by reason, as numbered in gc_begin */
	uint64_t requests;                /* stops and cycles that the program requested */
	bool requests_missing;            /* there may be more: some reasons are unknown */
	struct model_named_pauses *named; /* pauses by the runtimes' own names; included above */
	size_t n_named;
	struct model_named_reason *named_reasons; /* most time first; not in `reasons` */
	size_t n_named_reasons;
	struct model_utilisation utilisation[UTILISATIONS_MAX]; /* the minimum over all processes */
	size_t n_utilisation;
	uint64_t any_ns; /* with a pause in progress, summed over processes */
	bool overlap;    /* pauses of several threads overlap: their sum is more than that */
};

/* Number and total time of everything that is reported as a pause. */
static inline uint64_t model_gc_count(const struct model_gc *gc)
{
	return gc->minor.count + gc->major.count + gc->others.count;
}

static inline double model_gc_ns(const struct model_gc *gc)
{
	return (double)gc->minor.total_ns + (double)gc->major.total_ns +
	       (double)gc->others.total_ns + (double)gc->around.total_ns;
}

struct model_cpu {
	uint64_t records; /* one record may stand for several samples */
	uint64_t samples, gc_samples;
	double squares;          /* sum of the squared ns of all records */
	bool exact;              /* scheduler accounting is available */
	uint64_t on_cpu_ns;      /* from the scheduler's accounting if exact */
	uint64_t in_gc_ns;       /* of on_cpu_ns: from timer samples and summaries of collections */
	uint64_t work_ns[WORKS]; /* of the rest, by kind of work, from timer samples */
	double collector_ns; /* of collectors: in pauses, on the reporting thread, and outside */
	uint64_t user_ns, kernel_ns; /* by the mode that timer samples were taken in */
	uint64_t no_samples_ns;      /* of on_cpu_ns: not covered by any sample */
	bool queue_known, quota_known;
	uint64_t queued_ns; /* not in on_cpu_ns: threads were runnable but had no CPU */
	uint64_t quota_ns, quota_milli_cpus; /* stopped by quotas; the smallest of these, or 0 */
	/*
	 * Of on_cpu_ns: time in the recorder's BPF programs, including their entry. Belongs to no
	 * function and is in neither user_ns nor kernel_ns, unless view->recording is set.
	 */
	uint64_t recording_ns;
};

/* What is charged to sites, or to none: CPU time of collectors, or pauses. */
static inline double model_gc_cost(const struct model_gc *gc, const struct model_cpu *cpu)
{
	return gc->pauses_charged ? model_gc_ns(gc) : cpu->collector_ns;
}

/* How long system calls were traced, if tracing had gaps. */
struct model_tracing {
	bool gaps;      /* tracing had gaps; if false, the other fields are 0 */
	bool estimated; /* totals include estimates for the gaps */
	uint64_t windows;
	uint64_t traced_ns, untraced_ns;
	struct estimate count, time; /* of all calls, as syscall_count and syscall_ns */
};

/* Traced share of the time that windows and gaps cover, 0..1; 1 without gaps. */
static inline double model_coverage(const struct model_tracing *tracing)
{
	return tracing->gaps ? (double)tracing->traced_ns /
				       ((double)tracing->traced_ns + (double)tracing->untraced_ns)
			     : 1;
}

struct model {
	const char *file;
	enum model_frames frames; /* kept on stacks */
	enum profile_state state;
	struct profile_status status;
	const char *filter; /* as text; NULL: everything is selected */
	uint64_t refused;   /* records left out because they contradict others */
	struct model_run run;
	struct model_alloc alloc;
	struct model_gc gc;
	struct model_cpu cpu;
	struct model_stacks stacks;
	uint32_t recorded;            /* streams that were: bits of STREAM_... */
	struct model_stream *streams; /* by stream code */
	size_t n_streams;
	struct model_loss *losses; /* only those that occurred */
	size_t n_losses;
	struct model_function *functions; /* highest rank first */
	size_t n_functions;
	struct model_type *types; /* most bytes first */
	size_t n_types;
	struct model_site *sites; /* most collection time first */
	size_t n_sites;
	size_t n_sites_found;           /* including sites that got no row (SITES_MAX) */
	struct timeline *timeline;      /* see timeline.h */
	struct model_syscall *syscalls; /* longest total time first */
	size_t n_syscalls;
	struct model_slow_call *slow_calls; /* longest first */
	size_t n_slow_calls;
	uint64_t syscall_count, syscall_ns, syscall_gc_ns, syscall_stack_ns; /* totals */
	struct model_tracing tracing;
	/* With a filter: calls in no row, since it is unknown how many of them are selected; and
	 * whether the selection includes untraced time. */
	double calls_left_out;
	bool calls_untraced;
	double calls_stackless; /* with a filter for functions: calls without a stack, in no row */
	struct model_wait *waits; /* longest total time first */
	size_t n_waits;
	struct model_waker *wakers; /* longest total wait first */
	size_t n_wakers;
	struct model_finding *findings; /* the greatest first; none with a filter */
	size_t n_findings;
	uint64_t wait_ns, wait_stack_ns; /* total; and those with a stack */
	struct model_faults faults;
	struct model_gc_cycle *gc_cycles; /* by end time */
	size_t n_gc_cycles;
	struct model_heap_area *heap_areas; /* by process; what lies beside the heap comes last */
	size_t n_heap_areas;
	struct model_entry *entries; /* most CPU time first */
	size_t n_entries;
	struct model_heap {
		bool known;
		double objects, bytes, before;
		struct tally live;           /* bytes with their variance */
		struct model_heap_row *rows; /* most bytes first */
		size_t n_rows;
	} heap;            /* from the runtimes' own heap profiles */
	bool threads_move; /* a runtime moves its threads between the system's threads */
	struct model_runtime *runtimes; /* also providers of probes */
	size_t n_runtimes;
	struct model_pause *pauses; /* longest first */
	size_t n_pauses;
	struct model_thread *threads; /* most CPU time first */
	size_t n_threads;
	struct model_time_group *time_groups; /* most time that is not idle first */
	size_t n_time_groups;
	struct model_program *programs; /* most CPU time first */
	size_t n_programs;
	struct arena *arena; /* private; owns the strings */
};

/* Whether system calls were made of which none was seen: their number is unknown, not 0. */
static inline bool model_calls_unknown(const struct model *model)
{
	if (model->n_syscalls)
		return false;
	return model->calls_left_out > 0 ||
	       (model->tracing.gaps && (!model->filter || model->calls_untraced));
}

/* Whether a filter selects nothing that was recorded. */
static inline bool model_selects_nothing(const struct model *model)
{
	return model->filter && !model->cpu.samples && !model->alloc.samples &&
	       !model_gc_count(&model->gc) && !model->syscall_count && !model->wait_ns &&
	       !model->faults.recorded && !model->heap.n_rows;
}

/* NULL is allowed. */
void model_free(struct model *model);

#endif
