/* SPDX-License-Identifier: BSD-2-Clause */
/* probe_args.h: codes and fixed-width structs that the probes of probes.def pass. */
#ifndef GCPROF_PROBE_ARGS_H
#define GCPROF_PROBE_ARGS_H

#ifndef __bpf__
#include <stddef.h>
#include <stdint.h>
#endif

/* Codes are part of the contract: never renumbered, never reused. */

enum gcprof_sample_kind {
	GCPROF_SAMPLE_NURSERY = 1,  /* allocated in the nursery */
	GCPROF_SAMPLE_LARGE = 2,    /* allocated separately because of its size */
	GCPROF_SAMPLE_BORN_OLD = 3, /* allocated directly in the old generation */
	GCPROF_SAMPLE_FOREIGN = 4,  /* allocated outside the collector's heap, but may cause
				       collections */
	GCPROF_SAMPLE_MANUAL = 5,   /* as by malloc(): causes none, live until GCPROF_FREED */
};

enum gcprof_outcome {
	GCPROF_DIED_YOUNG = 1, /* unreachable at a minor collection */
	GCPROF_PROMOTED = 2,   /* survived its first minor collection: now in the old generation */
	GCPROF_PINNED = 3,     /* survived without moving and is still young */
	GCPROF_DIED_OLD = 4,   /* unreachable at the end of marking */
	GCPROF_FREED = 5,      /* by the program, or when its last reference was dropped */
	/* From recorders only. */
	GCPROF_COPIED = 6,   /* survived another collection, which copied it */
	GCPROF_UNKNOWN = 7,  /* lives or not: nothing more is known of it */
	GCPROF_REPLACED = 8, /* the same, on purpose: others of its process stand for it */
};

enum gcprof_gc_kind {
	GCPROF_GC_MINOR = 1, /* the nursery only */
	GCPROF_GC_STEP = 2,  /* one step of an incremental major collection */
	GCPROF_GC_FULL = 3,  /* a whole major collection in one pause */
	/* 4 was withdrawn */
	GCPROF_GC_STOP = 5, /* threads are stopped without a collection, or for a part of a cycle */
};

enum gcprof_gc_reason {
	GCPROF_REASON_NURSERY = 1,   /* the nursery is full */
	GCPROF_REASON_LARGE = 2,     /* large objects were allocated */
	GCPROF_REASON_THRESHOLD = 3, /* the old generation grew past its threshold */
	GCPROF_REASON_EXPLICIT = 4,  /* the program asked */
	GCPROF_REASON_PRESSURE = 5,  /* memory outside the heap, or a heap limit */
	GCPROF_REASON_FINISH = 6,    /* the heap or a thread is being closed */
};

/* Kinds and reasons that a program names itself have numbers in this range. */
#define GCPROF_GC_NAMES_FIRST 16
#define GCPROF_GC_NAMES_END   256

enum gcprof_phase {
	GCPROF_PHASE_SCANNING = 1, /* no major collection in progress */
	GCPROF_PHASE_MARKING = 2,
	GCPROF_PHASE_SWEEPING = 3,
	GCPROF_PHASE_FINALIZING = 4,
};

enum gcprof_period_reason {
	GCPROF_PERIOD_START = 1,    /* sampling was switched on */
	GCPROF_PERIOD_CEILING = 2,  /* too many samples a second: raised */
	GCPROF_PERIOD_RECOVERY = 3, /* the rate fell: lowered again */
	GCPROF_PERIOD_REQUEST = 4,  /* the program or a recorder asked for it */
	GCPROF_PERIOD_STOP = 5,     /* sampling was switched off: new period 0 */
};

enum gcprof_thread_event {
	GCPROF_THREAD_ATTACH = 1,   /* a mutator thread was attached to a heap */
	GCPROF_THREAD_DETACH = 2,   /* it was detached: the anchor is no longer valid */
	GCPROF_THREAD_ANNOUNCE = 3, /* it was attached before the profiler */
};

/* Why a provider samples nothing in a process. */
enum gcprof_refusal {
	GCPROF_REFUSED_OTHER = 1,          /* for another reason than these */
	GCPROF_REFUSED_MALLOC = 2,         /* the program has a malloc() of its own */
	GCPROF_REFUSED_PARTS = 3,          /* it has only parts of an allocator of its own */
	GCPROF_REFUSED_ALLOCATOR = 4,      /* the runtime was built with another allocator */
	GCPROF_REFUSED_PYTHONMALLOC = 5,   /* this variable chooses another allocator */
	GCPROF_REFUSED_DEVELOPMENT = 6,    /* Python's development mode does */
	GCPROF_REFUSED_PYTHON_VERSION = 7, /* unknown to the agent, or without a global lock */
};

/* One entry of the array that `fate` points to. */
struct gcprof_fate {
	uint64_t sample;      /* the id from the `sample` probe */
	uint64_t age;         /* bytes allocated in the heap since the sample, by all threads */
	uint32_t outcome;     /* enum gcprof_outcome */
	uint32_t collections; /* minor collections survived */
};

#define GCPROF_FATE_MAX 256 /* entries in one firing of `fate` */

/* One entry of the array that `samples` points to. */
struct gcprof_sample {
	uint64_t sample; /* as in the probe `sample`, like type, size, period and kind */
	uint64_t time;   /* of the allocation, CLOCK_MONOTONIC ns */
	uint64_t type;
	uint64_t size;
	uint64_t period;
	uint64_t stack;    /* key from an earlier `sample` of this process */
	uint32_t kind;     /* enum gcprof_sample_kind */
	uint32_t reserved; /* 0 */
};

#define GCPROF_SAMPLES_MAX 256 /* entries in one firing of `samples` */

/*
 * A segment of a stack: from above the `top` of the next segment up to and
 * including its own. Equal keys mean equal frames, in any stack.
 */
struct gcprof_piece {
	uint64_t piece; /* its key, in this process; not 0 */
	uint64_t top;   /* address; decreases from one to the next */
};

#define GCPROF_PIECES_MAX 512 /* segments of a stack */

/* A stack of segments that were reported before. Their keys follow, the outermost first. */
struct gcprof_stack {
	uint64_t stack; /* its key, for samples in the same firing; not 0 */
	uint32_t kept;  /* outermost segments shared with the previous stack in this firing */
	uint32_t added; /* further segments, whose keys follow */
};

#define GCPROF_STACK_WORDS_MAX 1024 /* for all stacks of one firing of `samples` */

/* One frame of the array that `stack` points to. */
struct gcprof_frame {
	uint32_t code; /* id, as in `code` */
	uint32_t line; /* 0: unknown */
};

#define GCPROF_FRAMES_MAX 256 /* in one firing of `stack` */

/* How the frames of `stack` combine with the native frames of a sample. */
enum gcprof_stack_how {
	GCPROF_STACK_WHOLE = 1,   /* the complete stack: there are no native frames */
	GCPROF_STACK_CALLERS = 2, /* the callers of all native frames */
	GCPROF_STACK_MANAGED = 3, /* the callers of the native frames inside the innermost code
				     that belongs to no file; that code and its callers are
				     omitted */
};

/* What `gc_end` points to. All sizes are in bytes, at the end of the collection. */
struct gcprof_gc_stats {
	uint64_t promoted_bytes;   /* moved to the old generation by this collection */
	uint64_t promoted_objects; /* number of these objects */
	uint64_t nursery_used;     /* bytes allocated in the nursery since it was last emptied */
	uint64_t allocated_bytes;  /* allocated since the heap was created: the clock of ages */
	uint64_t arena_bytes;      /* reserved for small and medium old objects */
	uint64_t large_bytes;      /* in large objects */
	uint64_t live_bytes;       /* in old and large objects; exact after a full collection */
	uint64_t freed_bytes;      /* freed by this collection */
	uint64_t stop_ns;          /* from the request until every mutator has stopped */
	uint32_t phase;            /* enum gcprof_phase */
	uint32_t threads;          /* attached mutator threads */
};

/*
 * Buckets of durations. Each duration below 4 ns has its own bucket. Above there are four for each
 * power of two: for 2^e <= ns < 2^(e+1) the bucket is 4 (e - 1) + the two bits below the highest.
 * Longer durations are in the last bucket.
 */
#define GCPROF_GC_BUCKETS 104

#define GCPROF_GC_STOPS 0 /* instead of a kind: see below */

/*
 * One entry of the array that `gc_summary` points to: collections of one kind and reason. An entry
 * of kind GCPROF_GC_STOPS sums the stops whose collections are all in sums, each from the beginning
 * of its first collection to the end of its last. Its reason is that of the first collection; 0:
 * unknown.
 */
struct gcprof_gc_sums {
	uint32_t kind;   /* enum gcprof_gc_kind, or GCPROF_GC_STOPS: the figures of gc_end are 0 */
	uint32_t reason; /* enum gcprof_gc_reason */
	uint64_t count;
	uint64_t total_ns;         /* total duration */
	uint64_t max_ns;           /* longest duration */
	uint64_t promoted_bytes;   /* total of the field in gc_end */
	uint64_t promoted_objects; /* likewise */
	uint64_t stop_ns;          /* likewise */
	uint64_t stop_max_ns;      /* longest stop_ns */
	uint64_t nursery_max;      /* largest nursery_used */
	uint64_t heap_max;         /* largest sum of arena_bytes, large_bytes and nursery_used */
	uint32_t histogram[GCPROF_GC_BUCKETS]; /* number of collections by duration */
};

#define GCPROF_GC_SUMS_MAX 16 /* entries in one firing of `gc_summary` */

#if !defined(__bpf__) && !defined(__cplusplus)
_Static_assert(sizeof(struct gcprof_fate) == 24, "read by BPF");
_Static_assert(sizeof(struct gcprof_sample) == 56, "read by BPF");
_Static_assert(sizeof(struct gcprof_piece) == 16, "read by BPF");
_Static_assert(sizeof(struct gcprof_stack) == 16, "read by the recorder");
_Static_assert(sizeof(struct gcprof_frame) == 8, "read by BPF");
_Static_assert(sizeof(struct gcprof_gc_stats) == 80, "read by BPF");
_Static_assert(sizeof(struct gcprof_gc_sums) == 496, "read by BPF");
#endif

#endif
