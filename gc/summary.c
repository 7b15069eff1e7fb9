/* SPDX-License-Identifier: BSD-2-Clause */
/* summary.c: reports collections one by one, and short ones that come quickly as sums. */
/*
 * A collection that finds nothing alive takes two microseconds, and a program
 * that allocates gigabytes a second makes thousands of them each second. Firing
 * gc_begin and gc_end takes longer than that. So there is a ceiling: so many a
 * second are reported one by one, and all that take long. Those beyond are added
 * up by kind and reason. `gc_summary` reports the sums before the next collection
 * that is reported, and when the last running thread blocks, the last one is
 * detached or the process ends. Outcomes of samples wait for the same moments.
 *
 * Only its end shows that a collection took long. One that did, and was expected
 * to be short, is reported then: gc_begin carries the time at which it began.
 *
 * All of it belongs to the collector, or to whoever holds the heap's lock while
 * there is none.
 */
#include "internal.h"

#include <string.h>

#if !GCPROF_NO_SAMPLING

#define MS       UINT64_C(1000000)
#define LONG_NS  (1 * MS)    /* a collection that takes as long is reported by itself */
#define BURST_NS (1000 * MS) /* of the ceiling: what may have been saved up */

static struct gc_summary *summary_of(struct gc_heap *heap)
{
	return &heap->sampler.summary;
}

/* --- what is reported ------------------------------------------------------------------ */

static void fire_begin(const struct gc_heap *heap, const struct gc_collection *c, uint64_t time)
{
	probe_gc_begin(&(struct probe_gc_begin){
		.heap = heap->id,
		.cycle = heap->cycle,
		.kind = c->kind,
		.reason = c->reason,
		.stop = heap->stop_cycle,
		.time = time,
	});
}

static void fire_end(const struct gc_heap *heap, const struct gc_collection *c)
{
	probe_gc_end(&(struct probe_gc_end){
		.heap = heap->id,
		.cycle = heap->cycle,
		.kind = c->kind,
		.stats = &heap->last,
	});
}

/* The phase in force. A marking that it reports is none of the sums. */
static void fire_phase(struct gc_heap *heap)
{
	struct gc_summary *summary = summary_of(heap);

	if (summary->phase == heap->major.phase)
		return;
	summary->phase = heap->major.phase;
	summary->cycles -= summary->phase == GCPROF_PHASE_MARKING;
	probe_phase(&(struct probe_phase){.heap = heap->id, .phase = summary->phase});
}

static void fire_fates(struct gc_summary *summary)
{
	if (summary->n_fates)
		probe_fate(&(struct probe_fate){summary->fates, summary->n_fates});
	summary->n_fates = 0;
}

static void set_count(struct gc_summary *summary, uint32_t count)
{
	__atomic_store_n(&summary->count, count, __ATOMIC_RELAXED);
}

void summary_flush(struct gc_heap *heap)
{
	struct gc_summary *summary = summary_of(heap);

	if (!summary->count)
		return;
	fire_fates(summary);
	fire_phase(heap);
	probe_gc_summary(&(struct probe_gc_summary){
		.heap = heap->id,
		.sums = summary->sums,
		.count = summary->count,
		.begin = summary->begin,
		.cycles = summary->cycles,
	});
	summary->cycles = 0;
	set_count(summary, 0);
}

void summary_rest(struct gc_thread *thread)
{
	struct gc_heap *heap = thread->heap;

	/* Where other threads run, one of them goes on with the sums. */
	if (!__atomic_load_n(&summary_of(heap)->count, __ATOMIC_RELAXED) ||
	    pthread_mutex_trylock(&heap->lock))
		return;
	if (!heap->collector && threads_are_stopped(heap, thread))
		summary_flush(heap);
	pthread_mutex_unlock(&heap->lock);
}

void summary_forked(struct gc_heap *heap)
{
	struct gc_summary *summary = summary_of(heap);

	set_count(summary, 0);
	summary->n_fates = 0;
	summary->cycles = 0;
	summary->phase = heap->major.phase;
}

/* --- which are ------------------------------------------------------------------------- */

/* A thread that others want the CPU of takes a millisecond for a short one, too. */
static bool is_long(const struct gc_heap *heap, uint64_t ns)
{
	return ns >= LONG_NS * rate_thrift(heap);
}

/* All consumers of collections must understand sums, or would miss some. */
static bool is_understood(struct gc_heap *heap)
{
	struct gc_summary *summary = summary_of(heap);
	uint32_t listeners = probe_gc_summary_listeners();

	/* What was added up is for those who were there. */
	if (listeners != summary->listeners || sampler_arrivals() != summary->arrivals) {
		summary_flush(heap);
		summary->listeners = listeners;
		summary->arrivals = sampler_arrivals();
	}
	return listeners && listeners >= probe_gc_begin_listeners() &&
	       listeners >= probe_gc_end_listeners();
}

/* By default a collection may be reported by itself for so many samples. */
enum { SAMPLES_EACH = 20 };

/* So many may a second. A recorder that asks for fewer samples wants to be disturbed less. */
static uint64_t get_ceiling(const struct gc_heap *heap)
{
	uint64_t samples = __atomic_load_n(&heap->sampler.ceiling, __ATOMIC_RELAXED);
	uint64_t ceiling = heap->options.gc_ceiling;

	if (samples >= heap->options.ceiling || samples / SAMPLES_EACH >= ceiling)
		return ceiling;
	return samples / SAMPLES_EACH + 1;
}

/*
 * May one more be reported by itself? A bucket of tokens, kept as the time from which on
 * the next may; that lags behind by what was saved up.
 */
static bool is_below_ceiling(struct gc_heap *heap, uint64_t now)
{
	struct gc_summary *summary = summary_of(heap);

	if (summary->next > now)
		return false;
	if (summary->next + BURST_NS < now)
		summary->next = now - BURST_NS;
	summary->next += 1000 * MS / get_ceiling(heap);
	return true;
}

/*
 * Does a recorder want each to be reported by itself? A recorder that asked for it and was killed
 * did not take it back: the request is void once no consumer is attached. None is attached yet,
 * either, between asking and attaching; so a request is void only if it stood while one was.
 */
static bool is_wanted_singly(struct gc_summary *summary)
{
	uint32_t asked = __atomic_load_n(&gcprof_singly.count, __ATOMIC_RELAXED);
	bool heard = probe_gc_begin_listeners() != 0;

	if (!heard && summary->singly && asked == summary->singly &&
	    __atomic_compare_exchange_n(&gcprof_singly.count, &asked, 0, false, __ATOMIC_RELAXED,
					__ATOMIC_RELAXED))
		asked = 0;
	summary->singly = heard ? asked : 0;
	return asked != 0;
}

/* Is the collection one of those that are added up, if it turns out short? */
static bool is_silent(struct gc_heap *heap, const struct gc_collection *c)
{
	struct gc_summary *summary = summary_of(heap);

	if (is_wanted_singly(summary) || !is_understood(heap) || heap->options.unbatched ||
	    heap->options.gc_ceiling == UINT64_MAX)
		return false;
	if (c->kind == GCPROF_GC_FULL || is_long(heap, summary->took[c->kind]))
		return false;
	/* What follows another in the same stop goes with it. */
	if (heap->cycle != heap->stop_cycle)
		return summary->silent;
	return !is_below_ceiling(heap, c->begin);
}

/* --- sums ------------------------------------------------------------------------------ */

static uint32_t bucket_of(uint64_t ns)
{
	uint32_t log = 63 - (uint32_t)__builtin_clzll(ns | 1), bucket;

	if (ns < 4)
		return (uint32_t)ns;
	bucket = (log - 1) * 4 + (ns >> (log - 2) & 3);
	return bucket < GCPROF_GC_BUCKETS ? bucket : GCPROF_GC_BUCKETS - 1;
}

static struct gcprof_gc_sums *find_sums(struct gc_heap *heap, uint32_t kind, uint32_t reason)
{
	struct gc_summary *summary = summary_of(heap);

	for (uint32_t i = 0; i < summary->count; i++)
		if (summary->sums[i].kind == kind && summary->sums[i].reason == reason)
			return &summary->sums[i];
	if (summary->count == GCPROF_GC_SUMS_MAX)
		summary_flush(heap);
	set_count(summary, summary->count + 1);
	summary->sums[summary->count - 1] = (struct gcprof_gc_sums){.kind = kind, .reason = reason};
	return &summary->sums[summary->count - 1];
}

/* One more, of so many ns. */
static struct gcprof_gc_sums *add(struct gc_heap *heap, uint32_t kind, uint32_t reason,
				  uint64_t begin, uint64_t ns)
{
	struct gc_summary *summary = summary_of(heap);
	struct gcprof_gc_sums *sums;

	sums = find_sums(heap, kind, reason);
	if (summary->count == 1 && !sums->count)
		summary->begin = begin;
	sums->count++;
	sums->total_ns += ns;
	raise_to(&sums->max_ns, ns);
	sums->histogram[bucket_of(ns)]++;
	return sums;
}

static void add_collection(struct gc_heap *heap, const struct gc_collection *c, uint64_t ns)
{
	const struct gcprof_gc_stats *last = &heap->last;
	struct gcprof_gc_sums *sums = add(heap, c->kind, c->reason, c->begin, ns);

	sums->promoted_bytes += last->promoted_bytes;
	sums->promoted_objects += last->promoted_objects;
	sums->stop_ns += last->stop_ns;
	raise_to(&sums->stop_max_ns, last->stop_ns);
	raise_to(&sums->nursery_max, last->nursery_used);
	raise_to(&sums->heap_max, last->arena_bytes + last->large_bytes + last->nursery_used);
}

/* --- a collection ---------------------------------------------------------------------- */

void summary_begin(struct gc_heap *heap, struct gc_collection *c)
{
	struct gc_summary *summary = summary_of(heap);

	c->silent = is_silent(heap, c);
	if (heap->cycle == heap->stop_cycle)
		summary->quiet = true;
	summary->silent = c->silent;
	if (c->silent)
		return;
	batch_flush(heap->collector);
	summary_flush(heap);
	fire_begin(heap, c, 0);
}

/* It was not short after all: the sums before it are reported with the next one. */
static void break_silence(struct gc_heap *heap, struct gc_collection *c)
{
	struct gc_summary *summary = summary_of(heap);

	c->silent = summary->silent = false;
	batch_flush(heap->collector);
	fire_begin(heap, c, c->begin);
	fire_fates(summary);
	fire_phase(heap);
}

void summary_end(struct gc_heap *heap, struct gc_collection *c, uint64_t now)
{
	struct gc_summary *summary = summary_of(heap);
	uint64_t ns = now - c->begin;

	summary->took[c->kind] = ns;
	if (c->silent && is_long(heap, ns))
		break_silence(heap, c);
	if (c->silent)
		add_collection(heap, c, ns);
	else
		fire_end(heap, c);
	summary->quiet &= c->silent;
	summary->stop_end = now;
}

/* Of a stop with a collection that was reported that tells how long it was. */
void summary_stop(struct gc_heap *heap)
{
	struct gc_summary *summary = summary_of(heap);

	if (summary->quiet)
		add(heap, GCPROF_GC_STOPS, 0, heap->stop_begin,
		    summary->stop_end - heap->stop_begin);
	summary->quiet = false;
}

void summary_fates(struct gc_heap *heap, const struct gcprof_fate *fates, uint32_t count)
{
	struct gc_summary *summary = summary_of(heap);

	if (!summary->silent) {
		probe_fate(&(struct probe_fate){fates, count});
		return;
	}
	if (count > GCPROF_FATE_MAX - summary->n_fates) {
		batch_flush(heap->collector);
		fire_fates(summary);
	}
	memcpy(summary->fates + summary->n_fates, fates, count * sizeof(*fates));
	summary->n_fates += count;
}

void summary_phase(struct gc_heap *heap)
{
	struct gc_summary *summary = summary_of(heap);

	summary->cycles += heap->major.phase == GCPROF_PHASE_MARKING;
	if (!summary->silent)
		fire_phase(heap);
}

#endif
