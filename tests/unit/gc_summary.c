/* SPDX-License-Identifier: BSD-2-Clause */
/* gc_summary.c: short collections that are reported as sums. */
#include <pthread.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "gc_test.h"

enum { KINDS = GCPROF_GC_FULL + 1 };

/* What the probes said, and what the hook saw of each collection. */
static struct {
	uint64_t hooked, hooked_promoted;
	uint64_t summed, summed_ns, summed_max; /* of these: no gc_end came for it */
	bool ended, open;
	uint64_t alone, alone_promoted, late;
	uint64_t firings, of[KINDS], ns, max, promoted, cycles; /* of sums; of[0]: stops */
	uint64_t stops_ns;
	uint64_t n_samples, n_fates;
	bool several; /* fates of a sample */
	uint64_t phases, markings;
	uint64_t begin; /* of the last sums */
} seen;

static void see_entry(const struct gcprof_gc_sums *sums)
{
	uint64_t count = 0;

	for (int i = 0; i < GCPROF_GC_BUCKETS; i++)
		count += sums->histogram[i];
	CHECK(sums->kind < KINDS && sums->kind != GCPROF_GC_FULL);
	CHECK(sums->count && sums->count == count);
	CHECK(sums->max_ns <= sums->total_ns && sums->total_ns <= sums->max_ns * count);
	seen.of[sums->kind] += count;
	if (sums->kind == GCPROF_GC_STOPS) {
		seen.stops_ns += sums->total_ns;
		return;
	}
	seen.ns += sums->total_ns;
	seen.promoted += sums->promoted_bytes;
	raise_to(&seen.max, sums->max_ns);
}

static void see_summary(const struct probe_gc_summary *a)
{
	CHECK(a->count >= 1 && a->count <= GCPROF_GC_SUMS_MAX);
	CHECK(a->begin <= os_now() && a->begin >= seen.begin);
	for (uint64_t i = 0; i < a->count; i++)
		see_entry((const struct gcprof_gc_sums *)a->sums + i);
	seen.begin = a->begin;
	seen.cycles += a->cycles;
	seen.firings++;
}

static void see_begin(const struct probe_gc_begin *a)
{
	CHECK(!seen.open);
	CHECK(!a->time || (a->time > seen.begin && a->time <= os_now()));
	seen.open = true;
	seen.late += a->time != 0;
}

static void see_end(const struct probe_gc_end *a)
{
	const struct gcprof_gc_stats *stats = a->stats;

	CHECK(seen.open);
	seen.open = false;
	seen.ended = true;
	seen.alone++;
	seen.alone_promoted += a->kind == GCPROF_GC_MINOR ? stats->promoted_bytes : 0;
}

/* Where the child of a fork says what its sums were of. */
static int pipe_ends[2] = {-1, -1};

static void observe_in_child(enum probe_number probe, const void *arguments)
{
	const struct probe_gc_summary *a = arguments;

	if (probe == PROBE_gc_summary)
		CHECK_EQ(write(pipe_ends[1], a->sums, sizeof(struct gcprof_gc_sums)),
			 sizeof(struct gcprof_gc_sums));
}

static void observe(enum probe_number probe, const void *arguments)
{
	if (probe == PROBE_gc_summary)
		see_summary(arguments);
	if (probe == PROBE_gc_begin)
		see_begin(arguments);
	if (probe == PROBE_gc_end)
		see_end(arguments);
	if (probe == PROBE_sample)
		seen.n_samples++;
	if (probe == PROBE_samples)
		seen.n_samples += ((const struct probe_samples *)arguments)->count;
	if (probe == PROBE_fate)
		seen.n_fates += ((const struct probe_fate *)arguments)->count;
	if (probe == PROBE_phase) {
		seen.phases++;
		seen.markings += ((const struct probe_phase *)arguments)->phase ==
				 GCPROF_PHASE_MARKING;
	}
	/* A fate comes behind its sample, and only those of old objects have several. */
	CHECK(seen.several || seen.n_fates <= seen.n_samples);
}

static void hook(void *context, const struct gc_hook_event *event)
{
	(void)context;
	seen.hooked++;
	seen.hooked_promoted += event->kind == GC_HOOK_MINOR ? event->promoted_bytes : 0;
	if (!seen.ended) {
		seen.summed++;
		seen.summed_ns += event->pause_ns;
		raise_to(&seen.summed_max, event->pause_ns);
	}
	seen.ended = false;
}

static void open_summary(struct fixture *f, uint64_t period)
{
	struct gc_options options = small_options();

	memset(&seen, 0, sizeof(seen));
	options.sampling.no_batching = 0;
	options.sampling.gc_ceiling = 1;
	options.sampling.period = period;
	options.sampling.ceiling = UINT64_MAX;
	probe_observer = observe;
	fixture_open(f, &options);
	gc_hook_set(f->heap, hook, NULL);
}

static void collect(struct fixture *f, int times)
{
	for (int i = 0; i < times; i++)
		gc_collect(f->thread, GC_COLLECT_MINOR);
}

static uint32_t waiting(const struct fixture *f)
{
	return f->heap->provider->summary.count;
}

/* As many quick ones as it takes for some to wait: a busy machine may make any of them slow. */
static bool some_wait(struct fixture *f)
{
	for (int i = 0; i < 1000 && !waiting(f); i++)
		collect(f, 1);
	return waiting(f);
}

static void flush(struct fixture *f)
{
	gcprof_flush(f->thread->sampler);
	gcprof_flush_sums(f->heap->provider);
}

/* All that has happened is in what was reported, once. */
static void check_sums(struct fixture *f)
{
	struct gc_stats stats;

	gc_stats(f->heap, &stats);
	printf("%llu alone, %llu of them late, %llu in %llu sums, %llu phases, %llu fates of "
	       "%llu\n",
	       (unsigned long long)seen.alone, (unsigned long long)seen.late,
	       (unsigned long long)seen.summed, (unsigned long long)seen.firings,
	       (unsigned long long)seen.phases, (unsigned long long)seen.n_fates,
	       (unsigned long long)seen.n_samples);
	CHECK_EQ(waiting(f), 0);
	CHECK_EQ(seen.hooked, heap_cycle(f->heap));
	CHECK_EQ(seen.alone + seen.summed, seen.hooked);
	CHECK_EQ(seen.of[GCPROF_GC_MINOR] + seen.of[GCPROF_GC_STEP], seen.summed);
	CHECK_EQ(seen.ns, seen.summed_ns);
	CHECK_EQ(seen.max, seen.summed_max);
	CHECK(seen.of[GCPROF_GC_STOPS] <= seen.summed);
	CHECK_EQ(seen.promoted + seen.alone_promoted, seen.hooked_promoted);
	CHECK_EQ(seen.promoted + seen.alone_promoted, stats.promoted_bytes);
	CHECK_EQ(seen.markings + seen.cycles, stats.full_collections);
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

TEST(what_is_reported_adds_up_to_what_was_collected)
{
	struct fixture f;

	open_summary(&f, 2048);
	seen.several = true;
	grow_and_drop(&f);
	for (int i = 0; i < 200000; i++)
		gc_alloc(f.thread, f.node, sizeof(struct node));
	collect(&f, 100);
	flush(&f);
	check_sums(&f);
	CHECK(seen.summed > 10 * seen.firings && seen.of[GCPROF_GC_STEP] > 0);
	CHECK(seen.cycles > 0);
	/* Fewer than there were: those in sums have none. */
	CHECK(seen.phases < GCPROF_PHASE_FINALIZING * (seen.cycles + seen.markings));
	gc_collect(f.thread, GC_COLLECT_FULL);
	/* Nothing is alive: no fate is open, but second ones of those that were promoted. */
	CHECK(seen.n_samples > 1000);
	CHECK_EQ(f.heap->sampled_old.count, 0);
	CHECK_EQ(f.heap->provider->summary.n_fates, 0);
	fixture_close(&f);
}

TEST(each_sample_has_its_outcome_though_its_collection_is_not_reported)
{
	struct fixture f;

	open_summary(&f, 2048);
	for (int i = 0; i < 400000; i++)
		gc_alloc(f.thread, f.node, sizeof(struct node));
	collect(&f, 1);
	flush(&f);
	check_sums(&f);
	CHECK(seen.summed > 0 && seen.n_samples > 4 * GCPROF_FATE_MAX);
	CHECK_EQ(seen.n_fates, seen.n_samples);
	/* Each of them alone in its stop. */
	CHECK_EQ(seen.of[GCPROF_GC_STOPS], seen.summed);
	CHECK(seen.stops_ns >= seen.ns);
	fixture_close(&f);
}

TEST(nothing_waits_where_the_thread_blocks_or_is_detached)
{
	struct fixture f;

	open_summary(&f, 1 << 20);
	CHECK(some_wait(&f));
	gc_blocking_begin(f.thread);
	check_sums(&f);
	gc_blocking_end(f.thread);
	CHECK(some_wait(&f));
	gc_thread_detach(f.thread);
	check_sums(&f);
	gc_heap_destroy(f.heap);
}

static bool ready, over;

static void *run_meanwhile(void *argument)
{
	struct fixture *f = argument;
	struct gc_thread *thread;

	CHECK_EQ(gc_thread_attach(f->heap, &thread), 0);
	__atomic_store_n(&ready, true, __ATOMIC_RELEASE);
	while (!__atomic_load_n(&over, __ATOMIC_ACQUIRE))
		gc_safepoint_slow(thread);
	gc_thread_detach(thread);
	return NULL;
}

/* It goes on with them: to report them each time that a thread blocks would be dear. */
TEST(sums_wait_while_another_thread_runs)
{
	struct fixture f;
	pthread_t other;

	open_summary(&f, 1 << 20);
	CHECK_EQ(pthread_create(&other, NULL, run_meanwhile, &f), 0);
	while (!__atomic_load_n(&ready, __ATOMIC_ACQUIRE))
		usleep(100);
	CHECK(some_wait(&f));
	/* It is still on its way back from being stopped. */
	while (threads_are_stopped(f.heap, f.thread))
		usleep(100);
	gc_blocking_begin(f.thread);
	CHECK(waiting(&f));
	__atomic_store_n(&over, true, __ATOMIC_RELEASE);
	pthread_join(other, NULL);
	gc_blocking_end(f.thread);
	gc_blocking_begin(f.thread);
	check_sums(&f);
	gc_blocking_end(f.thread);
	fixture_close(&f);
}

/* The child of a fork has none of its parent's, and has reported its own when it has ended. */
TEST(a_process_that_ends_has_reported_all)
{
	struct gcprof_gc_sums sums;
	struct fixture f;
	pid_t child;

	open_summary(&f, 1 << 20);
	CHECK(some_wait(&f));
	collect(&f, 100);
	CHECK_EQ(pipe(pipe_ends), 0);
	fflush(stdout);
	child = fork();
	if (!child) {
		CHECK_EQ(waiting(&f), 0);
		f.heap->provider->summary.next = UINT64_MAX;
		CHECK(some_wait(&f));
		probe_observer = observe_in_child;
		exit(0);
	}
	close(pipe_ends[1]);
	/* Its status does not count: its heap is a leak. */
	CHECK_EQ(waitpid(child, NULL, 0), child);
	CHECK_EQ(read(pipe_ends[0], &sums, sizeof(sums)), sizeof(sums));
	CHECK_EQ(sums.kind, GCPROF_GC_MINOR);
	CHECK_EQ(sums.count, 1);
	fixture_close(&f);
}

/* What was added up is for the consumers of that time, not for those that came since. */
TEST(a_later_recorder_gets_sums_that_begin_later)
{
	struct fixture f;
	uint64_t firings;

	open_summary(&f, 1 << 20);
	CHECK(some_wait(&f));
	firings = seen.firings;
	gcprof_control.generation++;
	f.heap->provider->summary.next = UINT64_MAX;
	collect(&f, 1);
	CHECK(seen.firings > firings);
	flush(&f);
	check_sums(&f);
	fixture_close(&f);
}

TEST(full_and_long_collections_are_reported_by_themselves)
{
	struct fixture f;
	uint64_t alone;

	open_summary(&f, 1 << 20);
	CHECK(some_wait(&f));
	alone = seen.alone;
	gc_collect(f.thread, GC_COLLECT_FULL);
	CHECK(seen.alone >= alone + 1);
	CHECK(some_wait(&f));
	alone = seen.alone;
	f.heap->provider->summary.took[GCPROF_GC_MINOR] = 1000000;
	collect(&f, 1);
	CHECK_EQ(seen.alone, alone + 1);
	check_sums(&f);
	fixture_close(&f);
}

/* One that follows short ones, and copies 16 MB. */
TEST(one_that_takes_long_unexpectedly_is_reported_with_its_begin)
{
	struct gc_options options = small_options();
	struct fixture f;

	memset(&seen, 0, sizeof(seen));
	options.sampling.no_batching = 0;
	options.sampling.gc_ceiling = 1;
	options.nursery_size = 64 << 20;
	probe_observer = observe;
	fixture_open(&f, &options);
	gc_hook_set(f.heap, hook, NULL);
	CHECK(some_wait(&f));
	GC_FRAME(f.thread, frame, 0, struct node * list;);
	frame.root.list = make_list(&f, 500000);
	f.heap->provider->summary.next = UINT64_MAX;
	f.heap->provider->summary.took[GCPROF_GC_MINOR] = 1000;
	seen.late = 0;
	collect(&f, 1);
	GC_FRAME_END(f.thread, frame);
	CHECK_EQ(seen.late, 1);
	CHECK(seen.alone_promoted >= 500000 * sizeof(struct node));
	fixture_close(&f);
	CHECK_EQ(seen.alone + seen.summed, seen.hooked);
}

/* The tokens of a second and no more: what time brings in addition is little, or much if the
 * machine is busy. */
TEST(as_many_as_the_ceiling_allows_are_reported_by_themselves)
{
	struct fixture f;

	open_summary(&f, 1 << 20);
	f.heap->provider->options.gc_ceiling = 50;
	collect(&f, 2000);
	flush(&f);
	check_sums(&f);
	CHECK(seen.alone >= 50 && seen.summed > 0);
	fixture_close(&f);
}

/* What a collection that is reported by itself takes from what may be, ns. */
static uint64_t price(struct fixture *f, uint64_t samples)
{
	uint64_t *next = &f->heap->provider->summary.next, before = os_now() - 500000000;

	*next = before;
	f->heap->provider->ceiling = samples;
	/* Behind one that took long the next is reported anyway. */
	for (int i = 0; i < 1000 && *next == before; i++)
		collect(f, 1);
	return *next - before;
}

TEST(fewer_samples_asked_for_means_fewer_collections_reported_alone)
{
	struct fixture f;

	open_summary(&f, 1 << 20);
	f.heap->provider->options.ceiling = 2000;
	f.heap->provider->options.gc_ceiling = 100;
	CHECK_EQ(price(&f, 2000), 1000000000 / 100);
	CHECK_EQ(price(&f, UINT64_MAX), 1000000000 / 100);
	CHECK_EQ(price(&f, 1999), 1000000000 / 100);
	CHECK_EQ(price(&f, 1000), 1000000000 / 50);
	CHECK_EQ(price(&f, 1), 1000000000 / 100 * 16);
	fixture_close(&f);
}

/* Is one expected to be short behind one of its kind that took so long? Nothing is left of the
 * ceiling. One that takes long itself, as its thread waits for a CPU, is reported for that. */
static bool is_summed_behind(struct fixture *f, uint64_t took)
{
	uint64_t *last = &f->heap->provider->summary.took[GCPROF_GC_MINOR], alone;

	do {
		alone = seen.alone;
		f->heap->provider->summary.next = UINT64_MAX;
		*last = took;
		collect(f, 1);
	} while (*last >= 1000000);
	return seen.alone == alone;
}

TEST(fewer_samples_asked_for_means_fewer_long_collections_reported_alone)
{
	struct fixture f;

	open_summary(&f, 1 << 20);
	f.heap->provider->options.ceiling = 2000;
	f.heap->provider->ceiling = 2000;
	CHECK(is_summed_behind(&f, 999999));
	CHECK(!is_summed_behind(&f, 1000000));
	CHECK_EQ(rate_waiting_max(f.heap->provider), 10000000);
	f.heap->provider->ceiling = 1000;
	CHECK(is_summed_behind(&f, 1999999));
	CHECK(!is_summed_behind(&f, 2000000));
	CHECK_EQ(rate_waiting_max(f.heap->provider), 20000000);
	f.heap->provider->ceiling = 1;
	CHECK(is_summed_behind(&f, 15999999));
	CHECK(!is_summed_behind(&f, 16000000));
	CHECK_EQ(rate_waiting_max(f.heap->provider), 40000000);
	/* Of what has no bound no recorder can have asked for less. */
	f.heap->provider->options.ceiling = UINT64_MAX;
	CHECK(!is_summed_behind(&f, 1000000));
	flush(&f);
	check_sums(&f);
	fixture_close(&f);
}

static void count_alone(struct fixture *f)
{
	collect(f, 300);
	CHECK_EQ(seen.summed, 0);
	CHECK_EQ(seen.alone, heap_cycle(f->heap));
}

TEST(each_collection_is_reported_alone_where_that_is_asked_for)
{
	struct fixture f;

	open_summary(&f, 1 << 20);
	f.heap->provider->options.no_batching = 1;
	count_alone(&f);
	f.heap->provider->options.no_batching = 0;
	f.heap->provider->options.gc_ceiling = UINT64_MAX;
	count_alone(&f);
	f.heap->provider->options.gc_ceiling = 1;
	gcprof_control.requests[4] =
		(struct gcprof_request){.recorder = 1, .flags = GCPROF_EACH_COLLECTION};
	count_alone(&f);
	gcprof_control.requests[4].recorder = 0;
	CHECK(some_wait(&f));
	fixture_close(&f);
}
