/* SPDX-License-Identifier: BSD-2-Clause */
/* journal.h: short collections that wait in their thread to be told together. */
#ifndef GCPROF_JOURNAL_H
#define GCPROF_JOURNAL_H

#ifndef GC_INTERNAL
#error "internal header of libgcprof-gc"
#endif

#include "probe.h"
#include "probe_args.h"

#include <stdbool.h>
#include <stdint.h>

struct gc_heap;
struct gc_thread;
struct gc_journal;

/* What a heap's next collection is judged by: those before it. */
struct gc_journal_past {
	uint64_t next;                       /* from then on one may be told by itself, ns */
	uint64_t took[GCPROF_GC_SURVEY + 1]; /* the last one of each kind, ns */
	bool waited;                         /* the last one */
	uint32_t singly;                     /* what gcprof_singly said while somebody listened */
};

#if GCPROF_NO_SAMPLING

static inline bool journal_begin(struct gc_thread *self, const struct gcprof_collection *collection)
{
	(void)self;
	(void)collection;
	return false;
}

static inline void journal_end(struct gc_thread *self, uint64_t end,
			       const struct gcprof_gc_stats *stats)
{
	(void)self;
	(void)end;
	(void)stats;
}

static inline bool journal_phase(struct gc_thread *self, uint32_t phase)
{
	(void)self;
	(void)phase;
	return false;
}

static inline void journal_flush(struct gc_thread *thread)
{
	(void)thread;
}

static inline uint64_t journal_due(struct gc_thread *thread)
{
	(void)thread;
	return 0;
}

#else

/*
 * A collection by the calling thread begins, in a stop or before it. True: it will
 * be told later, after journal_end(). False: what waits was handed over, and the
 * collection is to be told at once.
 */
bool journal_begin(struct gc_thread *self, const struct gcprof_collection *collection);
void journal_end(struct gc_thread *self, uint64_t end, const struct gcprof_gc_stats *stats);

/* Fates of the collection under way: they wait with it, or false: to be told now. */
bool journal_fates(struct gc_thread *self, const struct gcprof_fate *fates, uint32_t count);

/* The collection under way brings the major one into another phase: likewise. */
bool journal_phase(struct gc_thread *self, uint32_t phase);

/* Hands over the samples that wait, then the collections. Before anything that may keep the thread
 * from doing so soon. */
void journal_flush(struct gc_thread *thread);

/* It is `now`, ns: hands over what has waited too long. */
void journal_look(struct gc_thread *thread, uint64_t now);

/* The same before the thread sleeps. In how many ns that will be so of what still waits, 0: of
 * nothing. */
uint64_t journal_due(struct gc_thread *thread);

/* Collections that wait. */
uint32_t journal_waiting(const struct gc_thread *thread);

/* In the child of a fork, for the thread that is left: what waits is the parent's. */
void journal_forked(struct gc_thread *thread);

/* Drops what waits. */
void journal_free(struct gc_thread *thread);

#endif

#endif
