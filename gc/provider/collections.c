/* SPDX-License-Identifier: BSD-2-Clause */
/* collections.c: reports collections individually, and frequent short ones as sums. */
/*
 * A collection that finds nothing alive takes two microseconds, and a program that
 * allocates gigabytes a second runs thousands of them each second. Firing gc_begin
 * and gc_end takes longer than that. So short collections beyond a ceiling per
 * second are summed by kind and reason; long ones are always reported
 * individually. `gc_summary` reports the sums before the next collection that is
 * reported individually, and when the last running thread blocks, the last one is
 * detached or the process ends. Outcomes of samples wait with the sums.
 *
 * Only at its end is a collection known to be long. If it was expected to be
 * short, gc_begin fires at its end with the time at which it began.
 *
 * The caller ensures that only one thread of a provider at a time is here.
 */
#include "batch.h"
#include "control.h"
#include "data.h"
#include "names.h"
#include "otel.h"
#include "rate.h"
#include "system.h"

#include <string.h>

#define LONG_NS  (1 * MS)    /* collections of this duration are reported individually */
#define BURST_NS (1000 * MS) /* burst of individual reports, in time at the ceiling's rate */

/* --- reporting ------------------------------------------------------------------------- */

static void fire_begin(const struct gcprof_provider *provider, uint64_t time)
{
	const struct collection *c = &provider->collection;

	probe_gc_begin(&(struct probe_gc_begin){
		.heap = provider->id,
		.cycle = c->cycle,
		.kind = c->kind,
		.reason = c->reason,
		.stop = c->stop_cycle,
		.time = time,
		.name = c->name,
	});
}

static void fire_end(const struct gcprof_provider *provider, const struct gcprof_gc_stats *stats)
{
	probe_gc_end(&(struct probe_gc_end){
		.heap = provider->id,
		.cycle = provider->collection.cycle,
		.kind = provider->collection.kind,
		.stats = stats,
	});
}

/* Reports the current phase. A marking reported here is not counted in the sums. */
static void fire_phase(struct gcprof_provider *provider)
{
	struct gc_summary *summary = &provider->summary;

	if (summary->phase == provider->collection.phase)
		return;
	summary->phase = provider->collection.phase;
	summary->cycles -= summary->phase == GCPROF_PHASE_MARKING;
	probe_phase(&(struct probe_phase){.heap = provider->id, .phase = summary->phase});
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

void gcprof_flush_sums(struct gcprof_provider *provider)
{
	struct gc_summary *summary = &provider->summary;

	if (!summary->count)
		return;
	fire_fates(summary);
	fire_phase(provider);
	probe_gc_summary(&(struct probe_gc_summary){
		.heap = provider->id,
		.sums = summary->sums,
		.count = summary->count,
		.begin = summary->begin,
		.cycles = summary->cycles,
	});
	summary->cycles = 0;
	set_count(summary, 0);
}

/* The thread's waiting samples come first: outcomes that wait with the sums may be theirs. */
static void flush_thread(struct gcprof_thread *thread)
{
	batch_flush(thread);
	gcprof_flush_sums(thread->provider);
}

void collections_forked(struct gcprof_provider *provider)
{
	struct gc_summary *summary = &provider->summary;

	set_count(summary, 0);
	summary->n_fates = 0;
	summary->cycles = 0;
	summary->phase = provider->collection.phase;
	provider->collection.stop_cycle = 0;
}

/* --- individually or in a sum ---------------------------------------------------------- */

/* Waiting for a CPU can make a short collection take a millisecond, hence the factor. */
static bool is_long(const struct gcprof_provider *provider, uint64_t ns)
{
	return ns >= LONG_NS * rate_thrift(provider);
}

/* Whether all consumers of collections understand sums; otherwise some would miss collections. */
static bool is_understood(struct gcprof_thread *thread)
{
	struct gc_summary *summary = &thread->provider->summary;
	uint32_t consumers = probe_gc_summary_consumers();

	/* Pending sums are for the consumers attached so far. */
	if (consumers != summary->consumers || control_generation() != summary->generation) {
		flush_thread(thread);
		summary->consumers = consumers;
		summary->generation = control_generation();
	}
	return consumers && consumers >= probe_gc_begin_consumers() &&
	       consumers >= probe_gc_end_consumers();
}

/*
 * Whether another collection may be reported individually. A token bucket, kept as the time from
 * which the next may be reported; it lies in the past by the tokens saved.
 */
static bool is_below_ceiling(struct gcprof_provider *provider, uint64_t now)
{
	struct gc_summary *summary = &provider->summary;

	if (summary->next > now)
		return false;
	if (summary->next + BURST_NS < now)
		summary->next = now - BURST_NS;
	summary->next += 1000 * MS / provider->options.gc_ceiling * rate_thrift(provider);
	return true;
}

/* Whether the collection goes into a sum if it turns out to be short. */
static bool is_summed(struct gcprof_thread *thread)
{
	struct gcprof_provider *provider = thread->provider;
	const struct collection *c = &provider->collection;
	struct gc_summary *summary = &provider->summary;

	if ((control_asked().flags & GCPROF_EACH_COLLECTION) || !is_understood(thread) ||
	    provider->options.no_batching || provider->options.gc_ceiling == UINT64_MAX)
		return false;
	/* Sums have no names. */
	if (c->name || c->kind >= GCPROF_GC_FULL || is_long(provider, summary->took[c->kind]))
		return false;
	/* Collections of one stop are treated alike. */
	if (c->cycle != c->stop_cycle)
		return summary->summed;
	return !is_below_ceiling(provider, c->begin);
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

static struct gcprof_gc_sums *find_sums(struct gcprof_thread *thread, uint32_t kind,
					uint32_t reason)
{
	struct gc_summary *summary = &thread->provider->summary;

	for (uint32_t i = 0; i < summary->count; i++)
		if (summary->sums[i].kind == kind && summary->sums[i].reason == reason)
			return &summary->sums[i];
	if (summary->count == GCPROF_GC_SUMS_MAX)
		flush_thread(thread);
	set_count(summary, summary->count + 1);
	summary->sums[summary->count - 1] = (struct gcprof_gc_sums){.kind = kind, .reason = reason};
	return &summary->sums[summary->count - 1];
}

static void raise_to(uint64_t *most, uint64_t value)
{
	if (*most < value)
		*most = value;
}

/* Counts one more of duration `ns`. */
static struct gcprof_gc_sums *add(struct gcprof_thread *thread, uint32_t kind, uint32_t reason,
				  uint64_t begin, uint64_t ns)
{
	struct gc_summary *summary = &thread->provider->summary;
	struct gcprof_gc_sums *sums;

	sums = find_sums(thread, kind, reason);
	if (summary->count == 1 && !sums->count)
		summary->begin = begin;
	sums->count++;
	sums->total_ns += ns;
	raise_to(&sums->max_ns, ns);
	sums->histogram[bucket_of(ns)]++;
	return sums;
}

static void add_collection(struct gcprof_thread *thread, const struct gcprof_gc_stats *stats,
			   uint64_t ns)
{
	const struct collection *c = &thread->provider->collection;
	struct gcprof_gc_sums *sums = add(thread, c->kind, c->reason, c->begin, ns);

	sums->promoted_bytes += stats->promoted_bytes;
	sums->promoted_objects += stats->promoted_objects;
	sums->stop_ns += stats->stop_ns;
	raise_to(&sums->stop_max_ns, stats->stop_ns);
	raise_to(&sums->nursery_max, stats->nursery_used);
	raise_to(&sums->heap_max, stats->arena_bytes + stats->large_bytes + stats->nursery_used);
}

/* --- a collection ---------------------------------------------------------------------- */

/* Whether the program has named this kind or reason itself. */
static bool is_own(uint32_t number)
{
	return number >= GCPROF_GC_NAMES_FIRST && number < GCPROF_GC_NAMES_END;
}

void gcprof_gc_begin(struct gcprof_thread *thread, uint32_t kind, uint32_t reason, uint64_t now)
{
	struct gcprof_provider *provider = thread->provider;
	struct gc_summary *summary = &provider->summary;
	struct collection *c = &provider->collection;

	c->name = is_own(kind) ? kind : 0;
	c->kind = c->name ? names_gc_kind(kind) : kind;
	c->reason = reason;
	c->begin = now;
	c->cycle++;
	if (!c->stop_cycle) {
		c->stop_cycle = c->cycle;
		c->stop_begin = now;
		c->stop_reason = reason;
		summary->stop_summed = true;
	}
	summary->summed = is_summed(thread);
	if (summary->summed)
		return;
	flush_thread(thread);
	fire_begin(provider, 0);
}

/* The collection was long after all. The sums before it are reported with the next one. */
static void report_late(struct gcprof_thread *thread)
{
	struct gcprof_provider *provider = thread->provider;

	provider->summary.summed = false;
	batch_flush(thread);
	fire_begin(provider, provider->collection.begin);
	fire_fates(&provider->summary);
	fire_phase(provider);
}

void gcprof_gc_end(struct gcprof_thread *thread, const struct gcprof_gc_stats *stats, uint64_t now)
{
	struct gcprof_provider *provider = thread->provider;
	struct gc_summary *summary = &provider->summary;
	uint64_t ns = now - provider->collection.begin;

	summary->took[provider->collection.kind] = ns;
	if (summary->summed && is_long(provider, ns))
		report_late(thread);
	if (summary->summed)
		add_collection(thread, stats, ns);
	else
		fire_end(provider, stats);
	summary->stop_summed &= summary->summed;
	summary->stop_end = now;
}

/* Sums the stop, unless one of its collections was reported individually. */
void gcprof_stop_end(struct gcprof_thread *thread)
{
	struct gc_summary *summary = &thread->provider->summary;
	struct collection *c = &thread->provider->collection;

	if (summary->stop_summed)
		add(thread, GCPROF_GC_STOPS, c->stop_reason, c->stop_begin,
		    summary->stop_end - c->stop_begin);
	summary->stop_summed = summary->summed = false;
	c->stop_cycle = 0;
}

int gcprof_wants_outcomes(void)
{
	return probe_fate_consumers() || otel_wants_outcomes();
}

void gcprof_outcomes(struct gcprof_thread *thread, const struct gcprof_fate *fates, uint32_t count)
{
	struct gc_summary *summary = &thread->provider->summary;

	otel_outcomes(fates, count);
	if (!summary->summed) {
		batch_flush(thread);
		probe_fate(&(struct probe_fate){fates, count});
		return;
	}
	if (count > GCPROF_FATE_MAX - summary->n_fates) {
		batch_flush(thread);
		fire_fates(summary);
	}
	memcpy(summary->fates + summary->n_fates, fates, count * sizeof(*fates));
	summary->n_fates += count;
}

void gcprof_phase(struct gcprof_provider *provider, uint32_t phase)
{
	struct gc_summary *summary = &provider->summary;

	provider->collection.phase = phase;
	summary->cycles += phase == GCPROF_PHASE_MARKING;
	if (!summary->summed)
		fire_phase(provider);
}

/* --- a cycle --------------------------------------------------------------------------- */

void gcprof_cycle(struct gcprof_provider *provider, uint32_t event,
		  const struct gcprof_cycle *cycle)
{
	if (event == GCPROF_CYCLE_BEGIN) {
		provider->cycles++;
		probe_cycle_begin(&(struct probe_cycle_begin){
			.heap = provider->id,
			.cycle = provider->cycles,
			.name = cycle->name,
			.reason = cycle->reason,
			.used = cycle->used,
		});
	} else {
		probe_cycle_end(&(struct probe_cycle_end){
			.heap = provider->id,
			.cycle = provider->cycles,
			.used = cycle->used,
			.live = cycle->live,
		});
	}
}
