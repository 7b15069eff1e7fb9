/* SPDX-License-Identifier: BSD-2-Clause */
/* probe_args.h: codes and fixed-width structures that the probes of probes.def hand over. */
#ifndef GCPROF_PROBE_ARGS_H
#define GCPROF_PROBE_ARGS_H

#ifndef __bpf__
#include <stddef.h>
#include <stdint.h>
#endif

/* Codes are part of the contract: never renumbered, never reused. */

enum gcprof_sample_kind {
	GCPROF_SAMPLE_NURSERY = 1,  /* allocated in the nursery */
	GCPROF_SAMPLE_LARGE = 2,    /* allocated apart because of its size */
	GCPROF_SAMPLE_BORN_OLD = 3, /* allocated directly in the old generation */
	GCPROF_SAMPLE_FOREIGN = 4,  /* allocated outside the collector's heap */
	GCPROF_SAMPLE_MANUAL = 5, /* the same, and alive until its end is reported: GCPROF_FREED */
};

enum gcprof_outcome {
	GCPROF_DIED_YOUNG = 1, /* unreachable at a minor collection */
	GCPROF_PROMOTED = 2,   /* survived its first minor collection: now in the old generation */
	GCPROF_PINNED = 3,     /* survived without moving and is still young */
	GCPROF_DIED_OLD = 4,   /* unreachable at the end of marking */
	GCPROF_FREED = 5,      /* by the program, or when its last reference went */
};

enum gcprof_gc_kind {
	GCPROF_GC_MINOR = 1, /* the nursery only */
	GCPROF_GC_STEP = 2,  /* one step of an incremental major collection */
	GCPROF_GC_FULL = 3,  /* a whole major collection in one pause */
	/* 4 was withdrawn */
	GCPROF_GC_STOP = 5, /* threads are stopped, and nothing is collected */
};

enum gcprof_gc_reason {
	GCPROF_REASON_NURSERY = 1,   /* the nursery is full */
	GCPROF_REASON_LARGE = 2,     /* large objects were allocated */
	GCPROF_REASON_THRESHOLD = 3, /* the old generation grew past its threshold */
	GCPROF_REASON_EXPLICIT = 4,  /* the program asked */
	GCPROF_REASON_PRESSURE = 5,  /* memory outside the heap, or a heap limit */
	GCPROF_REASON_FINISH = 6,    /* the heap or a thread is being closed */
};

enum gcprof_phase {
	GCPROF_PHASE_SCANNING = 1, /* no major collection under way */
	GCPROF_PHASE_MARKING = 2,
	GCPROF_PHASE_SWEEPING = 3,
	GCPROF_PHASE_FINALIZING = 4,
};

enum gcprof_period_reason {
	GCPROF_PERIOD_START = 1,    /* sampling was switched on */
	GCPROF_PERIOD_CEILING = 2,  /* too many samples a second: raised */
	GCPROF_PERIOD_RECOVERY = 3, /* the rate fell: lowered again */
	GCPROF_PERIOD_REQUEST = 4,  /* the program or a recorder asked */
	GCPROF_PERIOD_STOP = 5,     /* sampling was switched off: new period 0 */
};

enum gcprof_thread_event {
	GCPROF_THREAD_ATTACH = 1,   /* a mutator thread was attached to a heap */
	GCPROF_THREAD_DETACH = 2,   /* and detached: the anchor is no longer valid */
	GCPROF_THREAD_ANNOUNCE = 3, /* it was there before the profiler arrived */
};

/* One entry of the array that `fate` points to. */
struct gcprof_fate {
	uint64_t sample;      /* the id that the `sample` probe gave */
	uint64_t age;         /* bytes that the heap allocated since then, all threads */
	uint32_t outcome;     /* enum gcprof_outcome */
	uint32_t collections; /* minor collections survived */
};

#define GCPROF_FATE_MAX 256 /* entries in one firing of `fate` */

/* One entry of the array that `samples` points to. */
struct gcprof_sample {
	uint64_t sample; /* as `sample` carries it; so are type, size, period and kind */
	uint64_t time;   /* of the allocation, CLOCK_MONOTONIC ns */
	uint64_t type;
	uint64_t size;
	uint64_t period;
	uint64_t stack;    /* key that an earlier `sample` of this process named */
	uint32_t kind;     /* enum gcprof_sample_kind */
	uint32_t reserved; /* 0 */
};

#define GCPROF_SAMPLES_MAX 256 /* entries in one firing of `samples` */

/*
 * A piece of a stack: what lies above `top` of the next piece, up to and with its
 * own. Equal pieces mean equal frames, in whatever stack they are.
 */
struct gcprof_piece {
	uint64_t piece; /* its key, in this process; not 0 */
	uint64_t top;   /* address; smaller from piece to piece */
};

#define GCPROF_PIECES_MAX 512 /* of a stack */

/* A stack, made of pieces that were reported before. Their keys follow, the outermost first. */
struct gcprof_stack {
	uint64_t stack; /* its key, for samples of the same firing; not 0 */
	uint32_t kept;  /* so many outermost pieces are those of the stack before, in this firing */
	uint32_t added; /* so many others follow */
};

#define GCPROF_STACK_WORDS_MAX 1024 /* for all stacks of one firing of `samples` */

/* One frame of the array that `stack` points to. */
struct gcprof_frame {
	uint32_t code; /* id, as in `code` */
	uint32_t line; /* 0: unknown */
};

#define GCPROF_FRAMES_MAX 256 /* in one firing of `stack` */

/* What the frames of `stack` are to the native ones of a sample that names them. */
enum gcprof_stack_how {
	GCPROF_STACK_WHOLE = 1,   /* all of the stack: there are no native frames */
	GCPROF_STACK_CALLERS = 2, /* the callers of all native frames that are found */
	GCPROF_STACK_MANAGED = 3, /* of those inside of code that is in no file: that and its
				     callers are left out */
};

/* What `gc_end` points to. All sizes in bytes, as they are when the collection ends. */
struct gcprof_gc_stats {
	uint64_t promoted_bytes;   /* moved to the old generation by this collection */
	uint64_t promoted_objects; /* and how many objects that was */
	uint64_t nursery_used;     /* allocated in the nursery since it was last emptied */
	uint64_t
		allocated_bytes; /* allocated by the heap since it was created: the clock of ages */
	uint64_t arena_bytes;    /* reserved for small and medium old objects */
	uint64_t large_bytes;    /* in large objects */
	uint64_t live_bytes;     /* in old and large objects; exact after a full collection */
	uint64_t freed_bytes;    /* given back by the sweeping of this collection */
	uint64_t stop_ns;        /* from the request until every mutator had stopped */
	uint32_t phase;          /* enum gcprof_phase */
	uint32_t threads;        /* mutator threads attached */
};

/*
 * Durations: those below 4 ns have a bucket each. Others have four for each power of two:
 * with 2^e <= ns < 2^(e+1) it is 4 (e - 1) + the two bits below the highest one.
 * What would lie beyond is in the last.
 */
#define GCPROF_GC_BUCKETS 104

#define GCPROF_GC_STOPS 0 /* instead of a kind: see below */

/*
 * One entry of the array that `gc_summary` points to: collections of one kind and reason. Or
 * stops, from the begin of their first collection to the end of their last: those whose
 * collections are all in sums.
 */
struct gcprof_gc_sums {
	uint32_t kind;   /* enum gcprof_gc_kind, or GCPROF_GC_STOPS: the figures of gc_end are 0 */
	uint32_t reason; /* enum gcprof_gc_reason */
	uint64_t count;
	uint64_t total_ns;         /* together */
	uint64_t max_ns;           /* the longest */
	uint64_t promoted_bytes;   /* as in gc_end, together */
	uint64_t promoted_objects; /* the same */
	uint64_t stop_ns;          /* the same */
	uint64_t stop_max_ns;      /* and the longest */
	uint64_t nursery_max;      /* the greatest nursery_used */
	uint64_t heap_max; /* the greatest sum of arena_bytes, large_bytes and nursery_used */
	uint32_t histogram[GCPROF_GC_BUCKETS]; /* how many took so long */
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
