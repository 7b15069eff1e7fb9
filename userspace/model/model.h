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

#include "../profile/reader.h"
#include "estimate.h"
#include "life.h"

struct arena;
struct timeline;

enum runtime { RUNTIME_NATIVE = 1, RUNTIME_MANAGED, RUNTIME_KERNEL };

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
	uint32_t severity; /* 1 lost, 2 cut, 3 held back on purpose */
};

struct model_function {
	const char *name;
	const char *module; /* path; of a managed function its source file; NULL: none */
	const char *file;   /* source, NULL: unknown */
	uint64_t line;      /* where it begins there, 0: unknown */
	enum runtime runtime;
	uint64_t cpu_samples; /* timer samples with the function anywhere on the stack */
	double cpu_self_ns;
	double cpu_total_ns;
	double alloc_self_bytes;
	double alloc_total_bytes;
	double survived_bytes;       /* of alloc_self_bytes */
	double survived_total_bytes; /* of alloc_total_bytes */
	double known_bytes;          /* of alloc_self_bytes: what became of them is known */
	double known_total_bytes;
	double gc_self_ns;      /* collection time that its own allocations caused */
	double gc_ns;           /* and those of what it calls as well */
	double syscall_ns;      /* calls with a stack that it or what it calls made */
	double syscall_self_ns; /* of those, where it is the innermost user function */
	double off_cpu_ns;      /* waits with a stack, of it or what it calls */
	double off_cpu_self_ns; /* of those, where it is the innermost user function */
	double rank;            /* by which rows are sorted: README.md */
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
	uint64_t total_ns;
	uint64_t p50_ns, p99_ns, max_ns;
	double squares;  /* sum of the squares of all pauses: how much one of them weighs */
	uint64_t cycles; /* major only: collections, however many steps each took */
};

struct model_syscall {
	const char *name;
	uint64_t number; /* bit 31: of the 32-bit table */
	uint64_t count, errors;
	uint64_t total_ns, p50_ns, p99_ns, max_ns;
	uint64_t in_gc_count, in_gc_ns;
	double squares;          /* sum of the squares of all durations, from the histogram */
	uint64_t waits, wait_ns; /* of total_ns: off the CPU until something happened */
};

/* What threads waited for. */
struct model_wait {
	const char *name; /* the system call's, or the reason's */
	const char *reason;
	uint64_t count;
	uint64_t total_ns;
	uint64_t max_ns; /* of those that were recorded one by one */
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
};

/* One of the longest calls that were recorded. */
struct model_slow_call {
	uint64_t tid;
	uint64_t start; /* CLOCK_MONOTONIC */
	uint64_t duration_ns, gc_ns;
	const char *text; /* name(arguments) = result */
};

enum { SLOW_CALLS = 20 };

struct model_thread {
	const char *name; /* NULL: unknown */
	uint64_t tid, pid;
	uint64_t cpu_samples, gc_samples, alloc_samples; /* gc: of cpu_samples, in a collection */
	double cpu_ns;
	double alloc_bytes;
	struct estimate alloc; /* the same with its interval */
	bool ended;            /* what follows is known */
	bool waits_known;      /* and so is the time off the CPU */
	uint64_t wall_ns;      /* that it was recorded for */
	uint64_t off_cpu_ns;   /* of that; the rest is on a CPU */
	uint64_t waits[WAIT_KINDS], wait_ns[WAIT_KINDS];
	uint64_t minor_faults, major_faults;
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
	REASON_UNTOLD,
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
	const char *tool, *host, *kernel, *machine, *cpus, *cpu_model; /* NULL: unknown */
	const char *attached; /* the processes that ran already, in words; or NULL */
	uint64_t start;       /* CLOCK_MONOTONIC */
	uint64_t duration;    /* to the end, or to the last record of a profile without one */
	uint64_t wall;        /* the part of it that a filter selects by time */
	uint64_t realtime;    /* of the start, ns since 1970; 0: unknown */
	uint64_t frequency;   /* of the timer; 0: none */
	uint64_t end_reason;  /* as in the end record; 0: there is none */
	uint64_t status;      /* wait status, only with end_reason 1 */
};

struct model_alloc {
	uint64_t samples;
	uint64_t period;                 /* asked for, or the first in force; 0: unknown */
	uint64_t period_min, period_max; /* that samples carry */
	uint64_t period_changes;         /* because of the ceiling on samples a second */
	struct estimate bytes;
	struct estimate objects;
	double live_bytes;
};

/* The least share of any span of time this long that the program had for itself. */
struct model_utilisation {
	uint64_t window_ns;
	double minimum; /* 0..1 */
};

enum { UTILISATIONS_MAX = 16, GC_REASONS = 7 };

struct model_gc {
	struct model_pauses minor, major; /* major: steps and full collections */
	uint64_t promoted_bytes;
	uint64_t heap_peak_bytes;      /* of the largest heap */
	uint64_t rss_peak_bytes;       /* of the largest process, at the end of a collection */
	uint64_t stop_ns, stop_max_ns; /* of the pauses: until every thread had stopped */
	uint64_t unpaired;       /* collections of which only the beginning or the end is there */
	double fixed_ns;         /* of a minor collection, fitted: the same for each */
	double copy_ns_per_byte; /* and for each byte that it promotes */
	double no_samples_ns;    /* pauses that no sample is there to be charged with */
	uint64_t promoted_objects;
	uint64_t nursery_bytes; /* the fullest that a minor collection found */
	struct {
		uint64_t count, total_ns;
	} reasons[GC_REASONS]; /* why collections began, as gc_begin numbers it */
	struct model_utilisation utilisation[UTILISATIONS_MAX]; /* of the process with least */
	size_t n_utilisation;
};

struct model_cpu {
	uint64_t samples, gc_samples, kernel_samples;
	uint64_t on_cpu_ns, in_gc_ns;
	uint64_t user_ns, kernel_ns;
};

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
	struct timeline *timeline;      /* see timeline.h */
	struct model_syscall *syscalls; /* longest in total first */
	size_t n_syscalls;
	struct model_slow_call slow_calls[SLOW_CALLS]; /* longest first */
	size_t n_slow_calls;
	uint64_t syscall_count, syscall_ns, syscall_gc_ns, syscall_stack_ns; /* sums */
	struct model_wait *waits; /* longest in total first */
	size_t n_waits;
	uint64_t wait_ns, wait_stack_ns; /* sums: all, those with a stack */
	struct model_faults faults;
	struct model_thread *threads; /* most CPU time first */
	size_t n_threads;
	struct arena *arena; /* private: owns the strings */
};

/*
 * Takes over `source`, also when it fails; `file` is what the model calls it, copied.
 * A profile without its end, or damaged, gives a model of what is there; see
 * model->state. Errors: those of profile_reader_open(), of the source, -ENOMEM.
 */
int model_load(struct source *source, const char *file, struct model **out);

struct pass;
struct record;

/*
 * Looks on while a model is loaded, for those who need single events and stacks as
 * well (pass.h, tree.h). Both functions return 0 or a negative errno, which ends
 * the loading. `record` comes behind each record that was not refused, `finish`
 * once the model is complete and the pass still there.
 */
struct model_observer {
	int (*record)(struct model_observer *observer, struct pass *pass,
		      const struct record *record);
	int (*finish)(struct model_observer *observer, struct pass *pass);
};

int model_load_observed(struct source *source, const char *file, struct model_observer *observer,
			struct model **out);

/* How a profile is looked at. */
struct model_view {
	enum model_frames frames;        /* that are kept on the stacks */
	struct model_observer *observer; /* or NULL */
};

int model_load_view(struct source *source, const char *file, const struct model_view *view,
		    struct model **out);

struct filter;

/*
 * The model of what `filter` selects: see filter.h. Takes over two sources of the same
 * profile, because it is read twice. Of system calls only single records count: the
 * kernel's totals cannot be divided. Pauses are charged as in the whole profile.
 * The observer (may be NULL) looks on when what is selected is counted; it is told of
 * every record.
 */
int model_load_filtered(struct source *const sources[2], const char *file,
			const struct filter *filter, const struct model_view *view,
			struct model **out);

/* NULL is allowed. */
void model_free(struct model *model);

#endif
