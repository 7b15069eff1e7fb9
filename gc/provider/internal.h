/* SPDX-License-Identifier: BSD-2-Clause */
/* internal.h: a provider and its threads as the library's own files see them. */
#ifndef GCPROF_PROVIDER_INTERNAL_H
#define GCPROF_PROVIDER_INTERNAL_H

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "provider.h"
#include "probe.h"

#define MS UINT64_C(1000000)

/* What a provider's next collection is judged by, and what was not reported yet: see
 * collections.c. */
struct gc_summary {
	uint64_t next;                     /* from then on one may be reported by itself, ns */
	uint64_t took[GCPROF_GC_FULL + 1]; /* the last one of each kind, ns */
	bool summed;                       /* the last one was, or is */
	bool stop_summed;                  /* and all since the world was stopped */
	uint64_t stop_end;                 /* of the last one of these */
	uint32_t consumers;                /* at the last check */
	uint64_t generation;               /* the same */
	uint32_t phase;                    /* that was reported last */
	uint64_t begin;                    /* of the first in the sums */
	uint64_t cycles;                   /* markings that began, and `phase` did not report */
	uint32_t count, n_fates;           /* count: atomic */
	struct gcprof_gc_sums sums[GCPROF_GC_SUMS_MAX];
	struct gcprof_fate fates[GCPROF_FATE_MAX];
};

/* The collection under way, and the stop that it is part of. */
struct collection {
	uint64_t cycle; /* collections so far */
	uint64_t begin;
	uint32_t kind, reason;
	uint32_t phase;      /* enum gcprof_phase, in force */
	uint64_t stop_cycle; /* of the first one in this stop, 0: there is none */
	uint64_t stop_begin; /* when that was */
};

struct gcprof_provider {
	uint64_t id; /* what probes call the heap */
	struct gcprof_options options;
	struct gcprof_provider *next;  /* of all, for fork */
	struct gcprof_thread *threads; /* see lifecycle.c */
	pthread_mutex_t lock;          /* guards the period, but for the atomics */
	bool on;                       /* a thread samples, or did when last seen */
	uint32_t paused;               /* by the program; atomic */
	uint64_t generation;           /* of the control block, when it was last read; atomic */
	uint64_t base_period;          /* asked for; atomic */
	uint64_t period;       /* in force, atomic: raised where there are too many samples */
	uint64_t ceiling;      /* samples a second, UINT64_MAX: none; atomic */
	uint64_t window_start; /* ns, atomic */
	uint64_t window_count; /* samples since, atomic */
	uint64_t n_threads;    /* attached so far */
	uint32_t n_types;      /* guarded by the lock of names.c */
	struct collection collection;
	struct gc_summary summary;
};

struct gcprof_thread {
	struct gcprof_thread_head head; /* first: it is what provider.h inlines */
	struct gcprof_provider *provider;
	struct gcprof_thread *next; /* of the same provider */
	pthread_t owner;
	const struct gc_anchor *anchor;
	struct gc_anchor no_frames; /* the anchor of a thread that pushes none */
	uint64_t period;            /* that the gap before the next hit was drawn with */
	uint64_t random[4];
	int64_t armed;          /* what the countdown began with */
	uint64_t checked;       /* when the clock was read, ns */
	uint32_t polls;         /* since then */
	uint32_t polls_most;    /* until the next time */
	uint64_t generation;    /* of the control block, when it was announced last */
	struct gc_batch *batch; /* NULL: none was needed yet */
	gcprof_walk *walk;      /* finds its frames; NULL: a profiler does */
	void *walk_context;
	uint32_t walk_how; /* enum gcprof_stack_how */
};

/* As probes name it; NULL: the thread pushes no frames. */
static inline const struct gc_anchor *thread_anchor(const struct gcprof_thread *thread)
{
	return thread->anchor == &thread->no_frames ? NULL : thread->anchor;
}

/* control.c: what recorders ask for together; 0: nothing. Another process wrote it: take nothing on
 * trust. */
struct asked {
	uint64_t period, ceiling, flags;
};

struct asked control_asked(void);

/* Changes whenever a recorder came, left, or asked for something else. */
static inline uint64_t control_generation(void)
{
	return __atomic_load_n(&gcprof_control.generation, __ATOMIC_ACQUIRE);
}

void clock_seed(struct gcprof_thread *thread);
void clock_announce(struct gcprof_thread *thread, uint32_t event);

/* options.c */
int provider_options_check(struct gcprof_options *options);

/* rate.c: the period in force. */
uint64_t rate_draw(struct gcprof_thread *thread, uint64_t period);
void rate_start(struct gcprof_provider *provider);
void rate_stop(struct gcprof_provider *provider);
void rate_poll(struct gcprof_provider *provider);
void rate_check(struct gcprof_provider *provider);
bool rate_is_raised(const struct gcprof_provider *provider);
void rate_count(struct gcprof_provider *provider);

/* A recorder that asks for fewer samples than we would take wants to be disturbed less: by this
 * factor, 1 to 16. */
uint64_t rate_thrift(const struct gcprof_provider *provider);

/* So long may anything wait for the batch, ns, if its thread comes by. */
uint64_t rate_waiting_max(const struct gcprof_provider *provider);

/* collections.c: in the child of a fork the sums are the parent's. */
void collections_forked(struct gcprof_provider *provider);

/* names.c: several providers of one name are one. */
void names_provider(const char *name, const char *version);
void names_lock(void);
void names_unlock(void);

#endif
