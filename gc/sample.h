/* SPDX-License-Identifier: BSD-2-Clause */
/* sample.h: the allocation sampler: budgets, periods, announcements, fates. */
/*
 * Called in slow paths and in collections only. Built with GCPROF_NO_SAMPLING
 * everything here is empty, and the rest of the collector is the same.
 */
#ifndef GCPROF_SAMPLE_H
#define GCPROF_SAMPLE_H

#ifndef GC_INTERNAL
#error "internal header of libgcprof-gc"
#endif

#include "probe.h"
#include "probe_args.h"

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct gc_heap;
struct gc_thread;
struct gc_options;
struct gc_type_info;

/* options.fixed_stride */
enum { STRIDE_EXPONENTIAL, STRIDE_FIXED, STRIDE_EVERY };

/* A sampled object whose fate is not known yet. */
struct gc_sampled {
	void *object;
	uint64_t sample;
	uint64_t birth;  /* bytes that the heap had allocated then, the object included */
	uint64_t minors; /* minor collections that the heap had made then */
};

struct gc_sampled_table {
	struct gc_sampled *entries;
	size_t count;
	size_t capacity;
};

struct gc_thread_sampler {
	bool on;
	int64_t budget;  /* from `segment` on, the byte with this number (from 1) is the next hit */
	uint64_t period; /* that the gap before that byte was drawn with */
	uint64_t random[4];
	uint64_t looked;     /* at the clock, ns */
	uint32_t polls;      /* since then */
	uint32_t polls_most; /* until the next time */
	struct gc_sampled_table young;
	struct gc_batch *batch; /* NULL: none was needed yet */
};

/* A collection under way: what its end must know of its beginning. */
struct gc_collection {
	uint64_t begin;
	uint64_t majors; /* major collections so far */
	uint32_t kind, reason;
	bool silent; /* it is added to the sums, if it is short */
};

/* What a heap's next collection is judged by, and what was not reported yet: see summary.c. */
struct gc_summary {
	uint64_t next;                       /* from then on one may be reported by itself, ns */
	uint64_t took[GCPROF_GC_SURVEY + 1]; /* the last one of each kind, ns */
	bool silent;                         /* the last one was, or is */
	bool quiet;                          /* and all since the world was stopped */
	uint64_t stop_end;                   /* of the last one of these */
	uint32_t singly;                     /* gcprof_singly, while there were consumers */
	uint32_t listeners, arrivals;        /* at the last check */
	uint32_t phase;                      /* that was reported last */
	uint64_t begin;                      /* of the first in the sums */
	uint64_t cycles;                     /* markings that began, and `phase` did not report */
	uint32_t count, n_fates;             /* count: atomic */
	struct gcprof_gc_sums sums[GCPROF_GC_SUMS_MAX];
	struct gcprof_fate fates[GCPROF_FATE_MAX];
};

struct gc_heap_sampler {
	pthread_mutex_t lock;  /* guards all but the atomics */
	bool on;               /* a thread samples, or did when last seen */
	uint32_t paused;       /* by the program; atomic */
	uint32_t generation;   /* of the control block, when it was last read; atomic */
	uint64_t base_period;  /* asked for; atomic */
	uint64_t period;       /* in force, atomic: raised where there are too many samples */
	uint64_t ceiling;      /* samples a second, UINT64_MAX: none; atomic */
	uint64_t window_start; /* ns, atomic */
	uint64_t window_count; /* samples since, atomic */
	uint64_t samples;      /* all of them, atomic */
	uint64_t threads;      /* attached so far */
	struct gc_summary summary;
	struct gc_sampled_table old;
	struct gc_sampled_table orphans; /* young ones of threads that are gone */
};

/* Marking, promotion: where an object is now, or NULL if it is dead. */
typedef void *(*gc_survivor)(struct gc_heap *heap, void *object);

/* How far allocation may go before it hits a sample, INT64_MAX while sampling is off. Inline: the
 * limit is set for each piece of a buffer. */
static inline int64_t sampler_bytes_left(const struct gc_thread_sampler *sampler)
{
	return !GCPROF_NO_SAMPLING && sampler->on ? sampler->budget : INT64_MAX;
}

#if GCPROF_NO_SAMPLING

#define SAMPLER_EMPTY(declaration) \
	static inline declaration  \
	{                          \
	}

#define UNUSED __attribute__((unused))
SAMPLER_EMPTY(void sampler_init(UNUSED struct gc_heap *heap))
SAMPLER_EMPTY(void sampler_free(UNUSED struct gc_heap *heap))
SAMPLER_EMPTY(void sampler_attach(UNUSED struct gc_thread *thread))
SAMPLER_EMPTY(void sampler_detach(UNUSED struct gc_thread *thread))
SAMPLER_EMPTY(void sampler_poll(UNUSED struct gc_thread *thread))
SAMPLER_EMPTY(void sampler_settle(UNUSED struct gc_thread *thread))
SAMPLER_EMPTY(void sampler_consume(UNUSED struct gc_thread *thread, UNUSED size_t size))
SAMPLER_EMPTY(void sampler_allocated(UNUSED struct gc_thread *thread, UNUSED void *object,
				     UNUSED size_t size))
SAMPLER_EMPTY(void sampler_forked(UNUSED struct gc_heap *heap))
SAMPLER_EMPTY(void fate_minor(UNUSED struct gc_heap *heap, UNUSED gc_survivor survivor))
static inline bool fate_old(UNUSED struct gc_heap *heap, UNUSED gc_survivor survivor,
			    UNUSED size_t *next, UNUSED size_t items)
{
	return false;
}
SAMPLER_EMPTY(void announce_attach(UNUSED struct gc_thread *thread))
SAMPLER_EMPTY(void announce_detach(UNUSED struct gc_thread *thread))
SAMPLER_EMPTY(void announce_forked(void))
SAMPLER_EMPTY(void summary_begin(UNUSED struct gc_heap *heap, UNUSED struct gc_collection *c))
SAMPLER_EMPTY(void summary_end(UNUSED struct gc_heap *heap, UNUSED struct gc_collection *c,
			       UNUSED uint64_t now))
SAMPLER_EMPTY(void summary_stop(UNUSED struct gc_heap *heap))
SAMPLER_EMPTY(void summary_phase(UNUSED struct gc_heap *heap))
SAMPLER_EMPTY(void summary_flush(UNUSED struct gc_heap *heap))
SAMPLER_EMPTY(void summary_rest(UNUSED struct gc_thread *thread))
#undef UNUSED
#undef SAMPLER_EMPTY

#else

/* sample.c */
void sampler_init(struct gc_heap *heap);
void sampler_free(struct gc_heap *heap);
void sampler_attach(struct gc_thread *thread);
void sampler_detach(struct gc_thread *thread);

/* Starts sampling when a profiler came. Not between an allocation's account and its
 * sampler_allocated(). */
void sampler_poll(struct gc_thread *thread);

/* Stops sampling when no profiler is left, and takes over another period: between allocations,
 * never before one that is perhaps here because it contains a hit. */
void sampler_settle(struct gc_thread *thread);

/* Charges bytes that were allocated without hitting a sample. */
void sampler_consume(struct gc_thread *thread, size_t size);

/* An object was allocated on a slow path: charges it and takes a sample if it contains one.
 * Its type is set, its memory is zero otherwise. */
void sampler_allocated(struct gc_thread *thread, void *object, size_t size);

/* In the child of a fork, for every heap: its samples so far are the parent's. */
void sampler_forked(struct gc_heap *heap);

/* sample.c: what a recorder asks for, see frame.h. */
extern struct gcprof_control gcprof_control;
extern struct gcprof_arrivals gcprof_arrivals;
extern struct gcprof_singly gcprof_singly;

/* Consumers that announced themselves, since no semaphore does. */
static inline uint32_t sampler_arrivals(void)
{
	return __atomic_load_n(&gcprof_arrivals.count, __ATOMIC_RELAXED);
}

/* rate.c: the period in force. */
uint64_t rate_draw(struct gc_thread *thread, uint64_t period);
void rate_start(struct gc_heap *heap);
void rate_stop(struct gc_heap *heap);
void rate_poll(struct gc_heap *heap);
void rate_look(struct gc_heap *heap);
bool rate_is_raised(const struct gc_heap *heap);
void rate_request(struct gc_heap *heap, uint64_t period);
void rate_count(struct gc_heap *heap);

/* A recorder that asks for fewer samples than we would take wants to be disturbed less: by this
 * factor, 1 to 16. */
uint64_t rate_thrift(const struct gc_heap *heap);

/* So long may anything wait for the batch, ns, if its thread comes by. */
uint64_t rate_waiting_max(const struct gc_heap *heap);

/* fate.c: what became of sampled objects. Both in a stop, before dead objects are freed. */
void fate_minor(struct gc_heap *heap, gc_survivor survivor);
bool fate_old(struct gc_heap *heap, gc_survivor survivor, size_t *next, size_t items);
void fate_add(struct gc_sampled_table *table, const struct gc_sampled *entry);
void fate_move(struct gc_sampled_table *to, struct gc_sampled_table *from);
void fate_free(struct gc_sampled_table *table);

/* summary.c: reports collections, one by one or as sums. By the collector, but where it says more.
 */
void summary_begin(struct gc_heap *heap, struct gc_collection *c);
void summary_end(struct gc_heap *heap, struct gc_collection *c, uint64_t now);

/* The last collection of a stop ended. */
void summary_stop(struct gc_heap *heap);

/* The major collection entered another phase. */
void summary_phase(struct gc_heap *heap);

/* Outcomes that the collection under way found: at once, or with its sums. */
void summary_fates(struct gc_heap *heap, const struct gcprof_fate *fates, uint32_t count);

/* Reports the sums; with the heap's lock, too, while no thread collects. */
void summary_flush(struct gc_heap *heap);

/* The thread is blocked, its samples are out: reports the sums if no other runs. */
void summary_rest(struct gc_thread *thread);

/* In the child of a fork: the sums are the parent's. */
void summary_forked(struct gc_heap *heap);

/* announce.c: what a profiler must learn that was there before it. */
void announce_poll(struct gc_thread *thread);
void announce_type(struct gc_heap *heap, uint32_t type);
void announce_attach(struct gc_thread *thread);
void announce_detach(struct gc_thread *thread);
void announce_forked(void);

#endif

/* random.c */
void random_seed(uint64_t state[4], uint64_t seed);
uint64_t random_next(uint64_t state[4]);
double random_exponential(uint64_t state[4]);

#endif
