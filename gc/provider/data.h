/* SPDX-License-Identifier: BSD-2-Clause */
/* data.h: the data of a provider and its threads, and what its parts do as these begin and end. */
#ifndef GCPROF_PROVIDER_DATA_H
#define GCPROF_PROVIDER_DATA_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "probe.h"
#include "provider.h"

/* Decides how a provider's next collection is reported, and holds pending sums: see collections.c.
 */
struct gc_summary {
	uint64_t next; /* time from which one may be reported individually, ns */
	uint64_t took[GCPROF_GC_STOP + 1]; /* duration of the last one of each kind, ns */
	bool summed;                       /* the current or last one goes into a sum */
	bool stop_summed;                  /* and so do all since the world was stopped */
	uint64_t stop_end;                 /* end of the last one of these */
	uint32_t consumers;                /* number of consumers at the last check */
	uint64_t generation;               /* likewise */
	uint32_t phase;                    /* last reported phase */
	uint64_t begin;                    /* of the first collection in the sums */
	uint64_t cycles;                   /* markings that began without a `phase` event */
	uint32_t count, n_fates;           /* count: atomic */
	struct gcprof_gc_sums sums[GCPROF_GC_SUMS_MAX];
	struct gcprof_fate fates[GCPROF_FATE_MAX];
};

/* The current collection, and the stop that it is part of. */
struct collection {
	uint64_t cycle; /* number of collections so far */
	uint64_t begin;
	uint32_t kind, reason;
	uint32_t name;        /* number of the program's own name for the kind; 0: none */
	uint32_t phase;       /* enum gcprof_phase, in force */
	uint64_t stop_cycle;  /* cycle of the first one in this stop; 0: none */
	uint64_t stop_begin;  /* its begin */
	uint32_t stop_reason; /* its reason */
};

struct gcprof_provider {
	uint64_t id; /* heap id in the probes */
	struct gcprof_options options;
	struct gcprof_provider *next;  /* list of all providers, for fork */
	struct gcprof_thread *threads; /* see lifecycle.c */
	pthread_mutex_t lock;          /* guards the period, except for atomics, and addresses */
	bool on;                       /* a thread samples, or did at its last poll */
	uint32_t paused;               /* by the program; atomic */
	uint64_t generation;           /* of the control block when it was last read; atomic */
	uint64_t base_period;          /* requested period; atomic */
	uint64_t period;       /* period in force, raised when there are too many samples; atomic */
	uint64_t ceiling;      /* samples a second, UINT64_MAX: none; atomic */
	uint64_t window_start; /* ns, atomic */
	uint64_t window_count; /* samples since then, atomic */
	uint64_t n_threads;    /* threads attached so far */
	uint32_t n_types;      /* guarded by the lock in names.c */
	struct collection collection;
	uint64_t cycles;             /* of a concurrent collector so far */
	struct addresses *addresses; /* of samples; NULL: none yet; atomic, changed with the lock */
	struct gc_summary summary;
};

struct gcprof_thread {
	struct gcprof_thread_head head; /* first: provider.h accesses it */
	struct gcprof_provider *provider;
	struct gcprof_thread *next; /* of the same provider */
	pthread_t owner;
	const struct gc_anchor *anchor;
	struct gc_anchor no_frames; /* anchor of a thread that pushes no frames */
	uint64_t period;            /* with which the distance to the next hit was drawn */
	uint64_t random[4];
	int64_t armed;          /* initial value of the countdown */
	uint64_t checked;       /* time of the last clock reading, ns */
	uint32_t polls;         /* polls since then */
	uint32_t polls_most;    /* polls until the next reading */
	uint64_t generation;    /* of the control block when the thread was last announced */
	struct gc_batch *batch; /* NULL: not needed yet */
	gcprof_walk *walk;      /* walks its frames; NULL: the profiler does */
	void *walk_context;
	uint32_t walk_how; /* enum gcprof_stack_how */
};

/* The anchor as probes pass it; NULL: the thread pushes no frames. */
static inline const struct gc_anchor *thread_anchor(const struct gcprof_thread *thread)
{
	return thread->anchor == &thread->no_frames ? NULL : thread->anchor;
}

/* Forgets all of them. */
void addresses_free(struct gcprof_provider *provider);

/* Seeds the thread's random numbers, which differ from those of all other threads. */
void clock_seed(struct gcprof_thread *thread);

/* Reports the thread; `event` is an enum gcprof_thread_event. */
void clock_announce(struct gcprof_thread *thread, uint32_t event);

/* In the child of a fork: drops the sums, which belong to the parent. */
void collections_forked(struct gcprof_provider *provider);

/* Replaces fields of 0 by their defaults and checks all. -EINVAL, with gcprof_error(). */
int provider_options_check(struct gcprof_options *options);

#endif
