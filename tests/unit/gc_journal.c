/* SPDX-License-Identifier: BSD-2-Clause */
/* gc_journal.c: short collections that are told together. */
#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "gc_test.h"

enum { MOST = 4096 };

/* What the probes said, in their order. */
static struct {
	struct gcprof_collection of[MOST];
	uint32_t n, n_alone; /* told afterwards; told by gc_begin and gc_end */
	uint32_t firings;
	uint64_t n_fates, n_fates_alone, n_samples;
	uint64_t last_cycle;
	uint32_t n_phases, n_phases_alone, phase;
	bool major; /* major collections come one after the other */
	const struct gcprof_pauses *pauses;
	bool open;
} seen;

static void see_phase(uint32_t phase)
{
	if (seen.major)
		CHECK_EQ(phase, seen.phase % GCPROF_PHASE_FINALIZING + 1);
	seen.phase = phase;
	seen.n_phases++;
}

/* Those of one collection; how many. */
static uint32_t see_phases(uint32_t phases)
{
	uint32_t n = 0;

	for (; phases; phases >>= GCPROF_PHASE_BITS, n++)
		see_phase(phases & ((1u << GCPROF_PHASE_BITS) - 1));
	return n;
}

static bool told_meanwhile, over;
static pthread_t stopped;

static void see_collections(const struct probe_collections *a)
{
	const struct gcprof_collection *entries = a->entries;
	uint64_t fates = 0, phases = 0;

	CHECK(a->count >= 1 && a->count <= GCPROF_COLLECTIONS_MAX);
	CHECK(a->n_fates <= GCPROF_FATE_MAX);
	CHECK(!seen.pauses || seen.pauses == a->pauses);
	seen.pauses = a->pauses;
	seen.firings++;
	for (uint64_t i = 0; i < a->count; i++) {
		CHECK(seen.n < MOST);
		CHECK(entries[i].begin <= entries[i].end && entries[i].end <= os_now());
		CHECK(!i || entries[i].begin >= entries[i - 1].end);
		CHECK_EQ(entries[i].cycle, seen.last_cycle + 1);
		CHECK(entries[i].stats.threads >= 1);
		seen.last_cycle = entries[i].cycle;
		fates += entries[i].fates;
		phases += see_phases(entries[i].phases);
		seen.of[seen.n++] = entries[i];
	}
	CHECK_EQ(fates, a->n_fates);
	CHECK_EQ(phases, a->phases);
	seen.n_fates += fates;
	/* A fate comes behind its sample. */
	CHECK(seen.n_fates + seen.n_fates_alone <= seen.n_samples);
}

static void observe(enum probe_number probe, const void *arguments)
{
	if (probe == PROBE_collections)
		see_collections(arguments);
	if (probe == PROBE_sample)
		seen.n_samples++;
	if (probe == PROBE_samples)
		seen.n_samples += ((const struct probe_samples *)arguments)->count;
	if (probe == PROBE_fate)
		seen.n_fates_alone += ((const struct probe_fate *)arguments)->count;
	if (probe == PROBE_phase) {
		see_phase(((const struct probe_phase *)arguments)->phase);
		seen.n_phases_alone++;
	}
	if (probe == PROBE_gc_begin) {
		CHECK_EQ(((const struct probe_gc_begin *)arguments)->cycle, ++seen.last_cycle);
		CHECK(!seen.open);
		seen.open = true;
		seen.n_alone++;
	}
	if (probe == PROBE_gc_end) {
		CHECK(seen.open);
		seen.open = false;
	}
}

static void open_journal(struct fixture *f, uint64_t period)
{
	struct gc_options options = small_options();

	memset(&seen, 0, sizeof(seen));
	options.unbatched = 0;
	options.gc_ceiling = 1;
	options.period = period;
	options.ceiling = UINT64_MAX;
	probe_observer = observe;
	fixture_open(f, &options);
}

static void collect(struct fixture *f, int times)
{
	for (int i = 0; i < times; i++)
		gc_collect(f->thread, GC_COLLECT_MINOR);
}

/* As many quick ones as it takes for some to wait: a busy machine may make any of them slow. */
static bool some_wait(struct fixture *f)
{
	for (int i = 0; i < 1000 && !journal_waiting(f->thread); i++)
		collect(f, 1);
	return journal_waiting(f->thread);
}

TEST(each_collection_is_told_once_with_its_fates_behind_its_samples)
{
	struct fixture f;

	open_journal(&f, 2048);
	for (int i = 0; i < 200000; i++)
		gc_alloc(f.thread, f.node, sizeof(struct node));
	collect(&f, 100);
	journal_flush(f.thread);
	printf("%u in %u firings, %u alone, %llu fates and %llu, %llu samples\n", seen.n,
	       seen.firings, seen.n_alone, (unsigned long long)seen.n_fates,
	       (unsigned long long)seen.n_fates_alone, (unsigned long long)seen.n_samples);
	CHECK_EQ(seen.last_cycle, heap_cycle(f.heap));
	CHECK_EQ(seen.n + seen.n_alone, heap_cycle(f.heap));
	CHECK(seen.n > seen.firings);
	CHECK(seen.n_samples > 1000);
	/* The nursery is empty: nobody's fate is open. */
	CHECK_EQ(seen.n_fates + seen.n_fates_alone, seen.n_samples);
	fixture_close(&f);
}

/* A list that is thrown away now and then, so that there are major collections, in steps. */
static void grow_and_drop(struct fixture *f)
{
	GC_FRAME(f->thread, frame, 0, struct node * list;);
	for (int i = 0; i < 200000; i++) {
		struct node *node = GC_NEW(f->thread, f->node, struct node);

		gc_write(f->thread, node, &node->left, frame.root.list);
		frame.root.list = i % 15000 ? node : NULL;
	}
	GC_FRAME_END(f->thread, frame);
	while (f->heap->major.phase != GCPROF_PHASE_SCANNING)
		gc_collect_step(f->thread);
}

TEST(each_phase_is_told_once_and_in_order_with_its_collection_or_alone)
{
	struct gc_stats stats;
	struct fixture f;

	open_journal(&f, UINT64_C(1) << 40); /* no samples, which have several fates */
	seen.phase = GCPROF_PHASE_SCANNING;
	seen.major = true;
	grow_and_drop(&f);
	journal_flush(f.thread);
	gc_stats(f.heap, &stats);
	printf("%llu major collections, %u phases, %u of them alone\n",
	       (unsigned long long)stats.full_collections, seen.n_phases, seen.n_phases_alone);
	CHECK(stats.full_collections > 3);
	CHECK_EQ(seen.n_phases, stats.full_collections * GCPROF_PHASE_FINALIZING);
	CHECK(seen.n_phases_alone < seen.n_phases);
	CHECK_EQ(seen.phase, GCPROF_PHASE_SCANNING);
	fixture_close(&f);
}

TEST(the_pauses_are_the_sum_of_what_is_told_afterwards)
{
	struct fixture f;
	uint64_t before, told = 0;
	uint32_t first;

	open_journal(&f, 1 << 20);
	CHECK(some_wait(&f));
	journal_flush(f.thread);
	before = seen.pauses->clock;
	first = seen.n;
	CHECK(some_wait(&f));
	collect(&f, 500);
	journal_flush(f.thread);
	for (uint32_t i = first; i < seen.n; i++)
		told += seen.of[i].end - seen.of[i].begin;
	CHECK_EQ(seen.pauses->clock - before, 2 * told);
	CHECK_EQ(seen.pauses->anchor, 0);
	fixture_close(&f);
}

TEST(nothing_waits_where_the_thread_blocks_or_is_detached)
{
	struct fixture f;

	open_journal(&f, 1 << 20);
	CHECK(some_wait(&f));
	gc_blocking_begin(f.thread);
	CHECK_EQ(journal_waiting(f.thread), 0);
	gc_blocking_end(f.thread);
	CHECK(some_wait(&f));
	fixture_close(&f);
	CHECK_EQ(seen.n + seen.n_alone, seen.last_cycle);
}

TEST(nothing_waits_for_long_where_the_thread_comes_by)
{
	struct fixture f;

	open_journal(&f, 1 << 20);
	CHECK(some_wait(&f));
	usleep(15000);
	for (int i = 0; i < 32; i++)
		gc_safepoint_slow(f.thread);
	CHECK_EQ(journal_waiting(f.thread), 0);
	fixture_close(&f);
}

TEST(full_and_long_collections_are_told_at_once)
{
	struct fixture f;
	uint32_t alone;

	open_journal(&f, 1 << 20);
	CHECK(some_wait(&f));
	alone = seen.n_alone;
	gc_collect(f.thread, GC_COLLECT_FULL);
	CHECK(seen.n_alone >= alone + 1);
	CHECK(some_wait(&f));
	alone = seen.n_alone;
	f.heap->sampler.past.took[GCPROF_GC_MINOR] = 1000000;
	collect(&f, 1);
	CHECK_EQ(seen.n_alone, alone + 1);
	CHECK_EQ(journal_waiting(f.thread), 0);
	fixture_close(&f);
}

/* The tokens of a second and no more: what time brings in addition is little, or much if the
 * machine is busy. */
TEST(as_many_as_the_ceiling_allows_are_told_by_themselves)
{
	struct fixture f;
	uint64_t begin;
	double seconds;

	open_journal(&f, 1 << 20);
	f.heap->options.gc_ceiling = 50;
	begin = os_now();
	collect(&f, 2000);
	journal_flush(f.thread);
	seconds = (double)(os_now() - begin) / 1e9;
	CHECK_EQ(seen.n + seen.n_alone, heap_cycle(f.heap));
	CHECK(seen.n_alone >= 50);
	/* One that took long has the next told at once: on a busy machine some do. */
	printf("%u alone, %u by the batch in %.3f s\n", seen.n_alone, seen.n, seconds);
	CHECK(seen.n > 0);
	fixture_close(&f);
}

/* What a collection that is told by itself takes from what may be, ns. */
static uint64_t price(struct fixture *f, uint64_t samples)
{
	uint64_t *next = &f->heap->sampler.past.next, before = os_now() - 500000000;

	*next = before;
	f->heap->sampler.ceiling = samples;
	/* Behind one that took long the next is told anyway. */
	for (int i = 0; i < 1000 && *next == before; i++)
		collect(f, 1);
	return *next - before;
}

TEST(who_asks_for_fewer_samples_is_told_of_fewer_collections_by_themselves)
{
	struct fixture f;

	open_journal(&f, 1 << 20);
	f.heap->options.ceiling = 2000;
	f.heap->options.gc_ceiling = 100;
	CHECK_EQ(price(&f, 2000), 1000000000 / 100);
	CHECK_EQ(price(&f, UINT64_MAX), 1000000000 / 100);
	CHECK_EQ(price(&f, 1999), 1000000000 / 100);
	CHECK_EQ(price(&f, 1000), 1000000000 / 51);
	CHECK_EQ(price(&f, 1), 1000000000 / 1);
	fixture_close(&f);
}

/* Does one wait behind one of its kind that took so long? Nothing is left of the ceiling. */
static bool waits_behind(struct fixture *f, uint64_t took)
{
	uint32_t alone = seen.n_alone;

	f->heap->sampler.past.next = UINT64_MAX;
	f->heap->sampler.past.took[GCPROF_GC_MINOR] = took;
	collect(f, 1);
	return seen.n_alone == alone;
}

TEST(who_asks_for_fewer_samples_is_told_of_fewer_long_collections_by_themselves)
{
	struct fixture f;

	open_journal(&f, 1 << 20);
	f.heap->options.ceiling = 2000;
	f.heap->sampler.ceiling = 2000;
	CHECK(waits_behind(&f, 999999));
	CHECK(!waits_behind(&f, 1000000));
	CHECK_EQ(rate_waiting_max(f.heap), 10000000);
	f.heap->sampler.ceiling = 1000;
	CHECK(waits_behind(&f, 1999999));
	CHECK(!waits_behind(&f, 2000000));
	CHECK_EQ(rate_waiting_max(f.heap), 20000000);
	f.heap->sampler.ceiling = 1;
	CHECK(waits_behind(&f, 15999999));
	CHECK(!waits_behind(&f, 16000000));
	CHECK_EQ(rate_waiting_max(f.heap), 40000000);
	/* Nobody can have asked for less of what has no bound. */
	f.heap->options.ceiling = UINT64_MAX;
	CHECK(!waits_behind(&f, 1000000));
	journal_flush(f.thread);
	CHECK_EQ(seen.n + seen.n_alone, heap_cycle(f.heap));
	fixture_close(&f);
}

/* Somebody else's collection lasts until the stopped thread has told its own. */
static void last_until_told(void *context, const struct gc_hook_event *event)
{
	(void)context;
	(void)event;
	while (!__atomic_load_n(&told_meanwhile, __ATOMIC_ACQUIRE))
		usleep(1000);
}

static void observe_told(enum probe_number probe, const void *arguments)
{
	(void)arguments;
	if (probe == PROBE_collections && pthread_equal(pthread_self(), stopped))
		__atomic_store_n(&told_meanwhile, true, __ATOMIC_RELEASE);
}

static void *collect_for_long(void *argument)
{
	struct fixture *f = argument;
	struct gc_thread *thread;

	CHECK_EQ(gc_thread_attach(f->heap, &thread), 0);
	gc_hook_set(f->heap, last_until_told, NULL);
	gc_collect(thread, GC_COLLECT_FULL);
	gc_hook_set(f->heap, NULL, NULL);
	gc_thread_detach(thread);
	__atomic_store_n(&over, true, __ATOMIC_RELEASE);
	return NULL;
}

/* A thread that is stopped does not tell what waits in it before it has waited long enough. */
TEST(what_waits_in_a_thread_that_is_stopped_for_long_is_told_meanwhile)
{
	struct fixture f;
	pthread_t other;

	open_journal(&f, 1 << 20);
	CHECK(some_wait(&f));
	stopped = pthread_self();
	probe_observer = observe_told;
	CHECK_EQ(pthread_create(&other, NULL, collect_for_long, &f), 0);
	while (!__atomic_load_n(&over, __ATOMIC_ACQUIRE))
		gc_safepoint_slow(f.thread);
	pthread_join(other, NULL);
	CHECK_EQ(journal_waiting(f.thread), 0);
	probe_observer = NULL;
	fixture_close(&f);
}

static void count_alone(struct fixture *f)
{
	collect(f, 300);
	CHECK_EQ(seen.n, 0);
	CHECK_EQ(seen.n_alone, heap_cycle(f->heap));
}

TEST(what_somebody_asked_for_who_is_gone_does_not_count)
{
	struct fixture f;
	probe_observer_function observer;

	open_journal(&f, 1 << 20);
	observer = probe_observer;
	/* Asked for before anybody listens: it counts. */
	probe_observer = NULL;
	gcprof_singly.count = 2;
	collect(&f, 10);
	CHECK_EQ(gcprof_singly.count, 2);
	seen.last_cycle = heap_cycle(f.heap);
	probe_observer = observer;
	collect(&f, 10);
	CHECK_EQ(gcprof_singly.count, 2);
	/* Whoever leaves and was not killed takes back what is his. */
	gcprof_singly.count = 1;
	collect(&f, 10);
	probe_observer = NULL;
	collect(&f, 1);
	CHECK_EQ(gcprof_singly.count, 0);
	/* Another one asks. */
	gcprof_singly.count = 1;
	collect(&f, 10);
	CHECK_EQ(gcprof_singly.count, 1);
	gcprof_singly.count = 0;
	seen.last_cycle = heap_cycle(f.heap);
	probe_observer = observer;
	CHECK(some_wait(&f));
	fixture_close(&f);
}

TEST(whoever_asks_for_it_has_each_told_by_itself)
{
	struct fixture f;

	open_journal(&f, 1 << 20);
	f.heap->options.unbatched = 1;
	count_alone(&f);
	f.heap->options.unbatched = 0;
	f.heap->options.gc_ceiling = UINT64_MAX;
	count_alone(&f);
	f.heap->options.gc_ceiling = 1;
	gcprof_singly.count++;
	count_alone(&f);
	gcprof_singly.count--;
	CHECK(some_wait(&f));
	fixture_close(&f);
}
