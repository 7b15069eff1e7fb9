/* SPDX-License-Identifier: BSD-2-Clause */
/* gc_provider.c: the provider's library by its public header, as an allocator of its own uses it.
 */
#include "test.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "provider/data.h"
#include "provider/random.h"

enum { PERIOD = 1000, TYPES_MANY = 9000 };

static struct {
	uint64_t samples, batched, fates, types, providers, last_sample, last_type, typed, stacks;
	uint64_t keys[8]; /* of the stacks at lines 0, 1, ... */
	struct gcprof_fate last_fate;
	uint64_t last_stack;
	struct probe_gc_begin collection;
	struct probe_cycle_begin cycle;
	struct probe_cycle_end cycle_end;
	uint64_t collections, gc_names;
	bool has_anchor, fate_first;
	char name[32];
} seen;

static void observe(enum probe_number probe, const void *arguments)
{
	if (probe == PROBE_stack) {
		const struct probe_stack *stack = arguments;

		seen.keys[((const struct gcprof_frame *)stack->frames)[0].line] = stack->stack;
		seen.stacks++;
	} else if (probe == PROBE_sample) {
		const struct probe_sample *sample = arguments;

		seen.samples++;
		seen.last_sample = sample->sample;
		seen.last_type = sample->type;
		seen.last_stack = sample->stack;
		seen.has_anchor |= sample->anchor != NULL;
	} else if (probe == PROBE_samples) {
		const struct probe_samples *batch = arguments;
		const struct gcprof_sample *entries = batch->entries;

		seen.batched += batch->count;
		seen.last_type = entries[batch->count - 1].type;
		seen.last_stack = entries[batch->count - 1].stack;
		seen.last_sample = entries[batch->count - 1].sample;
	} else if (probe == PROBE_typed) {
		seen.typed++;
		seen.last_type = ((const struct probe_typed *)arguments)->type;
	} else if (probe == PROBE_type) {
		const struct probe_type *type = arguments;

		seen.types++;
		snprintf(seen.name, sizeof(seen.name), "%s", type->name);
	} else if (probe == PROBE_provider) {
		const struct probe_provider *provider = arguments;

		seen.providers++;
		snprintf(seen.name, sizeof(seen.name), "%s %s", provider->name,
			 provider->version ? provider->version : "none");
	} else if (probe == PROBE_gc_begin) {
		seen.collection = *(const struct probe_gc_begin *)arguments;
		seen.collections++;
	} else if (probe == PROBE_cycle_begin) {
		seen.cycle = *(const struct probe_cycle_begin *)arguments;
	} else if (probe == PROBE_cycle_end) {
		seen.cycle_end = *(const struct probe_cycle_end *)arguments;
	} else if (probe == PROBE_gc_name) {
		const struct probe_gc_name *name = arguments;

		seen.gc_names++;
		snprintf(seen.name, sizeof(seen.name), "%u %s", name->number, name->name);
	} else if (probe == PROBE_fate) {
		const struct probe_fate *fate = arguments;

		seen.fates += fate->count;
		seen.last_fate = ((const struct gcprof_fate *)fate->entries)[fate->count - 1];
		seen.fate_first |= ((const struct gcprof_fate *)fate->entries)->sample >
				   seen.last_sample;
	}
}

static struct gcprof_thread *open_provider(struct gcprof_provider **provider)
{
	struct gcprof_options options = {.period = PERIOD,
					 .ceiling = UINT64_MAX,
					 .fixed_stride = GCPROF_STRIDE_FIXED,
					 .no_batching = 1,
					 .always_sample = 1};
	struct gcprof_thread *thread;

	memset(&seen, 0, sizeof(seen));
	probe_observer = observe;
	CHECK_EQ(gcprof_open(&options, provider), 0);
	CHECK_EQ(gcprof_thread_attach(*provider, NULL, &thread), 0);
	return thread;
}

static void close_provider(struct gcprof_provider *provider, struct gcprof_thread *thread)
{
	gcprof_thread_detach(thread);
	gcprof_close(provider);
}

/* With a fixed stride the object with each thousandth byte is a sample, large ones only once. */
TEST(an_allocation_is_sampled_if_it_has_a_hit)
{
	struct gcprof_provider *provider;
	struct gcprof_thread *thread = open_provider(&provider);
	uint64_t type = gcprof_type(provider, "thing"), before = 0, samples = 0;

	for (int i = 0; i < 20000; i++) {
		size_t size = i % 500 ? 8 + (size_t)i % 13 * 8 : 40000;
		bool hit = before / PERIOD != (before + size) / PERIOD;
		uint64_t sample = gcprof_alloc(thread, size, type, GCPROF_SAMPLE_FOREIGN);

		CHECK_EQ(sample != 0, hit);
		samples += hit;
		before += size;
	}
	CHECK(seen.samples > 1000);
	CHECK_EQ(seen.samples, samples);
	CHECK_EQ(seen.last_type, type);
	CHECK_EQ(seen.types, 1);
	CHECK_STR(seen.name, "thing");
	CHECK(!seen.has_anchor);
	close_provider(provider, thread);
}

/* A hundred objects in no time, each of a gigabyte: a window of 32 samples says nothing about how
 * long that will last. */
TEST(a_burst_does_not_raise_the_period_far)
{
	struct gcprof_provider *provider;
	struct gcprof_thread *thread = open_provider(&provider);
	uint64_t type = gcprof_type(provider, "thing");

	provider->ceiling = 1000;
	for (int i = 0; i < 100; i++)
		gcprof_alloc(thread, 1 << 30, type, GCPROF_SAMPLE_FOREIGN);
	CHECK(provider->period >= 4 * PERIOD);
	CHECK(provider->period <= 64 * PERIOD);
	close_provider(provider, thread);
}

/* Against the C library's exponential function. */
TEST(a_sample_stands_for_its_bytes_by_the_chance_that_it_is_one)
{
	const double periods[] = {1, 1000, 65536, 524288, 1099511627776.0};

	for (size_t i = 0; i < sizeof(periods) / sizeof(periods[0]); i++)
		for (double size = 1; size < 1e12; size = floor(size * 1.7 + 1)) {
			double wanted = size / -expm1(-size / periods[i]);
			double weight = (double)random_weight((uint64_t)size, (uint64_t)periods[i]);

			CHECK(fabs(weight - wanted) <= 1 + 1e-8 * wanted);
		}
	CHECK_EQ(random_weight(1, UINT64_C(1) << 40), UINT64_C(1) << 40);
	CHECK_EQ(random_weight(1000, 1), 1000);
}

/* Several heaps of one runtime are one provider. */
TEST(a_provider_has_a_name)
{
	struct gcprof_options options = {.name = "toy", .version = "1"};
	struct gcprof_provider *providers[3];

	memset(&seen, 0, sizeof(seen));
	probe_observer = observe;
	CHECK_EQ(gcprof_open(NULL, &providers[0]), 0);
	CHECK_EQ(seen.providers, 0);
	CHECK_EQ(gcprof_open(&options, &providers[1]), 0);
	CHECK_EQ(gcprof_open(&options, &providers[2]), 0);
	CHECK_EQ(seen.providers, 1);
	CHECK_STR(seen.name, "toy 1");
	gcprof_close(providers[2]);
	options.version = NULL;
	CHECK_EQ(gcprof_open(&options, &providers[2]), 0);
	CHECK_EQ(seen.providers, 2);
	CHECK_STR(seen.name, "toy none");
	for (int i = 0; i < 3; i++)
		gcprof_close(providers[i]);
}

TEST(there_may_be_many_types_and_each_keeps_its_name)
{
	struct gcprof_provider *provider, *other;
	struct gcprof_thread *thread = open_provider(&provider);
	uint64_t types[TYPES_MANY];
	char name[32];

	CHECK_EQ(gcprof_open(NULL, &other), 0);
	for (int i = 0; i < TYPES_MANY; i++) {
		snprintf(name, sizeof(name), "type%d", i);
		types[i] = gcprof_type(provider, name);
		CHECK(types[i] && (!i || types[i] != types[i - 1]));
		CHECK_EQ(seen.types, i + 1);
		CHECK_STR(seen.name, name);
	}
	CHECK(gcprof_type(other, "thing") != types[0]);
	for (int i = 0; i < TYPES_MANY; i += 997) {
		CHECK(gcprof_alloc(thread, PERIOD, types[i], GCPROF_SAMPLE_FOREIGN));
		CHECK_EQ(seen.last_type, types[i]);
	}
	gcprof_close(other);
	close_provider(provider, thread);
}

TEST(a_function_has_one_id)
{
	enum { FUNCTIONS = 3000 };
	static const char *const files[] = {NULL, "a", "b"};
	uint32_t ids[FUNCTIONS] = {0}, last = 0;
	char name[32];

	for (int round = 0; round < 2; round++)
		for (int i = 0; i < FUNCTIONS; i++) {
			/* Each name with three files, or with three lines. */
			snprintf(name, sizeof(name), "f%d", i / 6);
			uint32_t id = gcprof_code(name, files[i % 3], 1 + i % 6 / 3);

			CHECK(round ? id == ids[i] : id > last);
			ids[i] = last = id;
		}
}

/* At once, or into the sample that waits. */
TEST(a_type_may_come_after_its_sample)
{
	struct gcprof_provider *provider;
	struct gcprof_thread *thread = open_provider(&provider);
	uint64_t type = gcprof_type(provider, "thing"), sample;

	sample = gcprof_alloc(thread, PERIOD, 0, GCPROF_SAMPLE_FOREIGN);
	CHECK_EQ(seen.last_type, 0);
	gcprof_typed(thread, sample, type);
	CHECK_EQ(seen.typed, 1);
	CHECK_EQ(seen.last_type, type);
	provider->options.no_batching = 0;
	for (int i = 0; i < 100; i++) {
		sample = gcprof_alloc(thread, PERIOD, 0, GCPROF_SAMPLE_FOREIGN);
		gcprof_typed(thread, sample, type);
		gcprof_flush(thread);
		CHECK_EQ(seen.last_sample, sample);
		CHECK_EQ(seen.last_type, type);
	}
	CHECK(seen.batched > 50);
	CHECK_EQ(seen.typed, 101 - seen.batched);
	close_provider(provider, thread);
}

static uint32_t walk_three(void *context, struct gcprof_frame *frames, uint32_t max)
{
	CHECK_EQ(max, GCPROF_FRAMES_MAX);
	for (uint32_t i = 0; i < 3; i++)
		frames[i] = (struct gcprof_frame){i + 1, *(const uint32_t *)context};
	return 3;
}

/* A stack is reported before the first sample that names it, and not with each. */
TEST(a_thread_may_know_its_frames)
{
	struct gcprof_provider *provider;
	struct gcprof_thread *thread = open_provider(&provider);
	uint64_t type = gcprof_type(provider, "thing");
	uint32_t line = 0;

	for (int no_batching = 1; no_batching >= 0; no_batching--) {
		provider->options.no_batching = (uint32_t)no_batching;
		gcprof_thread_walk(thread, walk_three, &line, GCPROF_STACK_WHOLE);
		seen.stacks = seen.samples = seen.batched = 0;
		for (int i = 0; i < 1000; i++) {
			line = (uint32_t)i / 10 % 2;
			gcprof_alloc(thread, PERIOD, type, GCPROF_SAMPLE_FOREIGN);
		}
		gcprof_flush(thread);
		CHECK(seen.keys[0] && seen.keys[1] && seen.keys[0] != seen.keys[1]);
		CHECK_EQ(seen.last_stack, seen.keys[line]);
		CHECK_EQ(seen.samples + seen.batched, 1000);
		CHECK(no_batching ? seen.stacks == 1000 : seen.stacks < 100 && seen.batched > 900);
	}
	gcprof_thread_walk(thread, walk_three, &line, GCPROF_STACK_CALLERS);
	seen.samples = 0;
	for (int i = 0; i < 100; i++)
		gcprof_alloc(thread, PERIOD, type, GCPROF_SAMPLE_FOREIGN);
	CHECK_EQ(seen.samples, 100);
	gcprof_thread_walk(thread, NULL, NULL, 0);
	close_provider(provider, thread);
}

static uint32_t walk_one(void *context, struct gcprof_frame *frames, uint32_t max)
{
	CHECK(max >= 1);
	frames[0] = (struct gcprof_frame){1, *(const uint32_t *)context};
	return 1;
}

/* The same frames are another stack where native frames come before them. */
TEST(stacks_that_combine_differently_have_different_keys)
{
	struct gcprof_provider *provider;
	struct gcprof_thread *thread = open_provider(&provider);
	uint64_t type = gcprof_type(provider, "thing"), keys[3 * 8];
	int n = 0;

	for (uint32_t how = GCPROF_STACK_WHOLE; how <= GCPROF_STACK_MANAGED; how++)
		for (uint32_t line = 0; line < 8; line++, n++) {
			gcprof_thread_walk(thread, walk_one, &line, how);
			gcprof_alloc(thread, PERIOD, type, GCPROF_SAMPLE_FOREIGN);
			gcprof_flush(thread);
			keys[n] = seen.last_stack;
			for (int i = 0; i < n; i++)
				CHECK(keys[i] != keys[n]);
		}
	gcprof_thread_walk(thread, NULL, NULL, 0);
	close_provider(provider, thread);
}

/* Outside of collections, too; and a sample that waits comes first. */
TEST(an_outcome_is_reported_behind_its_sample)
{
	struct gcprof_provider *provider;
	struct gcprof_thread *thread = open_provider(&provider);
	uint64_t type = gcprof_type(provider, "thing");

	provider->options.no_batching = 0;
	for (int i = 0; i < 100; i++) {
		struct gcprof_fate fate = {.outcome = GCPROF_DIED_YOUNG};

		fate.sample = gcprof_alloc(thread, PERIOD, type, GCPROF_SAMPLE_FOREIGN);
		CHECK(fate.sample);
		gcprof_outcomes(thread, &fate, 1);
	}
	CHECK_EQ(seen.fates, 100);
	CHECK_EQ(seen.samples + seen.batched, 100);
	CHECK(seen.batched > 50);
	CHECK(!seen.fate_first);
	close_provider(provider, thread);
}

/* The collection's outcomes wait with its sum, and the sample in its thread. */
static void collect_summed(struct gcprof_thread *thread, uint64_t type, uint32_t reason)
{
	struct gcprof_fate fate = {.outcome = GCPROF_DIED_YOUNG};

	for (int i = 0; type && i < 3; i++)
		fate.sample = gcprof_alloc(thread, PERIOD, type, GCPROF_SAMPLE_NURSERY);
	gcprof_gc_begin(thread, GCPROF_GC_MINOR, reason, 1000);
	if (type)
		gcprof_outcomes(thread, &fate, 1);
	gcprof_gc_end(thread, &(struct gcprof_gc_stats){0}, 1000);
	gcprof_stop_end(thread);
}

TEST(an_outcome_in_a_sum_is_reported_behind_its_sample)
{
	struct gcprof_provider *provider;
	struct gcprof_thread *thread = open_provider(&provider);
	uint64_t type = gcprof_type(provider, "thing"), before;

	gcprof_thread_walk(thread, walk_one, &provider->collection.reason, GCPROF_STACK_WHOLE);
	provider->options.no_batching = 0;
	provider->options.gc_ceiling = 1;
	for (int i = 0; i < 10; i++)
		collect_summed(thread, type, GCPROF_REASON_NURSERY);
	/* A recorder comes. */
	before = seen.fates;
	gcprof_control.generation++;
	collect_summed(thread, 0, GCPROF_REASON_NURSERY);
	CHECK(seen.fates > before);
	CHECK(!seen.fate_first);
	before = seen.fates; /* now there are more sums than places */
	for (uint32_t i = 0; i < GCPROF_GC_SUMS_MAX; i++)
		collect_summed(thread, i < 2 ? type : 0, i);
	CHECK(seen.fates > before);
	CHECK(!seen.fate_first);
	close_provider(provider, thread);
}

enum { PLACES = 200000 }; /* several at each list */

static void check_freed(struct gcprof_thread *thread, const void *object, uint64_t allocated,
			uint64_t sample, uint64_t age)
{
	seen.fates = 0;
	gcprof_freed(thread, object, allocated);
	CHECK_EQ(seen.fates, sample != 0);
	if (!sample)
		return;
	CHECK_EQ(seen.last_fate.sample, sample);
	CHECK_EQ(seen.last_fate.age, age);
	CHECK_EQ(seen.last_fate.outcome, GCPROF_FREED);
}

TEST(the_end_of_an_object_is_reported_by_its_address)
{
	static char objects[PLACES];
	struct gcprof_provider *provider, *other;
	struct gcprof_thread *thread = open_provider(&provider), *elsewhere;

	check_freed(thread, objects, 5, 0, 0);
	/* Nobody knows their samples: any ids will do. */
	for (uint64_t i = 0; i < PLACES; i++)
		CHECK_EQ(gcprof_placed(thread, i + 1, objects + i, 10 * i), 0);
	/* Its memory was used again, without a report that it was freed. */
	CHECK_EQ(gcprof_placed(thread, PLACES + 1, objects + 7, 10 * PLACES), 0);
	check_freed(thread, objects + 7, 11 * PLACES, PLACES + 1, PLACES);
	for (uint64_t i = 0; i < PLACES; i += 3) {
		check_freed(thread, objects + i, 10 * i + 70, i == 7 ? 0 : i + 1, 70);
		check_freed(thread, objects + i, 10 * i + 70, 0, 0);
	}
	check_freed(thread, objects + 1, 0, 2, 0);
	check_freed(thread, objects + PLACES, 1, 0, 0);
	/* Another heap may be at the same addresses. */
	CHECK_EQ(gcprof_open(NULL, &other), 0);
	CHECK_EQ(gcprof_thread_attach(other, NULL, &elsewhere), 0);
	check_freed(elsewhere, objects + 2, 9, 0, 0);
	CHECK_EQ(gcprof_placed(elsewhere, 99, objects + 2, 9), 0);
	check_freed(thread, objects + 2, 30, 3, 10);
	check_freed(elsewhere, objects + 2, 19, 99, 10);
	close_provider(other, elsewhere);
	close_provider(provider, thread);
}

/* Another thread may free the object, so the sample does not wait. */
TEST(a_sample_with_an_address_is_reported_at_once)
{
	struct gcprof_provider *provider;
	struct gcprof_thread *thread = open_provider(&provider);
	uint64_t type = gcprof_type(provider, "thing"), sample;

	provider->options.no_batching = 0;
	for (int i = 0; i < 100; i++) {
		sample = gcprof_alloc(thread, PERIOD, type, GCPROF_SAMPLE_FOREIGN);
		CHECK_EQ(gcprof_placed(thread, sample, &sample, 1), 0);
		CHECK_EQ(seen.last_sample, sample);
	}
	CHECK(seen.batched > 50);
	close_provider(provider, thread);
}

/* The samples are the parent's. */
TEST(a_child_has_no_addresses)
{
	struct gcprof_provider *provider;
	struct gcprof_thread *thread = open_provider(&provider);
	int status, object;
	pid_t child;

	CHECK_EQ(gcprof_placed(thread, 1, &object, 1), 0);
	child = fork();
	if (!child) {
		gcprof_freed(thread, &object, 2);
		_exit(seen.fates || gcprof_placed(thread, 2, &object, 1));
	}
	CHECK_EQ(waitpid(child, &status, 0), child);
	CHECK_EQ(status, 0);
	check_freed(thread, &object, 3, 1, 2);
	close_provider(provider, thread);
}

enum { PAUSE = GCPROF_GC_NAMES_FIRST, YOUNG, MARK, STALL, LAST = GCPROF_GC_NAMES_END - 1 };

static void check_collection(struct gcprof_thread *thread, uint32_t kind, uint32_t reason,
			     uint32_t wanted)
{
	struct gcprof_gc_stats stats = {0};

	seen.collections = 0;
	for (int i = 0; i < 1000; i++) {
		gcprof_gc_begin(thread, kind, reason, 1000);
		gcprof_gc_end(thread, &stats, 1001);
		gcprof_stop_end(thread);
	}
	/* Sums have no names. */
	CHECK_EQ(seen.collections, 1000);
	CHECK_EQ(seen.collection.kind, wanted);
	CHECK_EQ(seen.collection.name, kind == wanted ? 0 : kind);
	CHECK_EQ(seen.collection.reason, reason);
}

TEST(a_concurrent_collector_has_cycles_pauses_and_names_of_its_own)
{
	const struct gcprof_gc_name names[] = {{PAUSE, GCPROF_GC_STOP, "pause"},
					       {YOUNG, GCPROF_GC_MINOR, "young"},
					       {MARK, 0, "mark"},
					       {LAST, 0, "stall"}};
	struct gcprof_options options = {.gc_names = names, .n_gc_names = 4};
	struct gcprof_provider *provider, *other;
	struct gcprof_thread *thread;

	memset(&seen, 0, sizeof(seen));
	probe_observer = observe;
	CHECK_EQ(gcprof_open(&options, &provider), 0);
	CHECK_EQ(seen.gc_names, 4);
	CHECK_STR(seen.name, "255 stall");
	CHECK_EQ(gcprof_open(&options, &other), 0);
	CHECK_EQ(seen.gc_names, 4);
	CHECK_EQ(gcprof_thread_attach(provider, NULL, &thread), 0);
	gcprof_cycle(provider, GCPROF_CYCLE_BEGIN, &(struct gcprof_cycle){.name = 20});
	gcprof_cycle(provider, GCPROF_CYCLE_END, &(struct gcprof_cycle){.used = 600, .live = 500});
	gcprof_cycle(provider, GCPROF_CYCLE_BEGIN, &(struct gcprof_cycle){MARK, LAST, 800, 0});
	CHECK(seen.cycle.cycle == 2 && seen.cycle.heap == seen.cycle_end.heap);
	CHECK(seen.cycle.name == MARK && seen.cycle.reason == LAST && seen.cycle.used == 800);
	CHECK(seen.cycle_end.cycle == 1 && seen.cycle_end.used == 600);
	CHECK_EQ(seen.cycle_end.live, 500);
	check_collection(thread, PAUSE, LAST, GCPROF_GC_STOP);
	check_collection(thread, YOUNG, GCPROF_REASON_NURSERY, GCPROF_GC_MINOR);
	check_collection(thread, GCPROF_GC_STOP, STALL, GCPROF_GC_STOP);
	close_provider(provider, thread);
	gcprof_close(other);
}

TEST(names_of_collections_are_checked)
{
	const struct gcprof_gc_name wrong[] = {{GCPROF_GC_NAMES_FIRST - 1, 0, "name"},
					       {GCPROF_GC_NAMES_END, 0, "name"},
					       {PAUSE, 0, NULL},
					       {PAUSE, 4, "name"},
					       {PAUSE, GCPROF_GC_STOP + 1, "name"}};
	struct gcprof_provider *provider;

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		struct gcprof_options options = {.gc_names = &wrong[i], .n_gc_names = 1};

		CHECK_EQ(gcprof_open(&options, &provider), -EINVAL);
		CHECK(strstr(gcprof_error(), "gc_names: number"));
	}
}

static uint32_t over; /* atomic */

static void *name_things(void *context)
{
	/* There may be a million types. */
	for (int i = 0; i < 500000 && !__atomic_load_n(&over, __ATOMIC_ACQUIRE); i++) {
		gcprof_type(context, "thing");
		gcprof_code("function", "file", (uint32_t)i);
		if (i % 100 == 0)
			usleep(20);
	}
	return NULL;
}

/* A child that finds a lock held by a thread that it does not have would wait for ever. */
TEST(a_child_may_name_things_whatever_other_threads_did_at_the_fork)
{
	struct gcprof_provider *provider;
	struct gcprof_thread *thread = open_provider(&provider);
	pthread_t other;
	int status;

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
	test_skip("malloc() of the sanitizers is not safe around a fork");
#endif
	probe_observer = NULL;
	CHECK_EQ(pthread_create(&other, NULL, name_things, provider), 0);
	for (int i = 0; i < 50; i++) {
		pid_t child = fork();

		if (!child) {
			alarm(20);
			_exit(!gcprof_type(provider, "child") || !gcprof_code("child", NULL, 0));
		}
		CHECK_EQ(waitpid(child, &status, 0), child);
		CHECK_EQ(status, 0);
	}
	__atomic_store_n(&over, 1, __ATOMIC_RELEASE);
	pthread_join(other, NULL);
	close_provider(provider, thread);
}

/* Their threads are not there; it goes on with its own. */
TEST(the_other_threads_are_detached_in_a_child)
{
	struct gcprof_provider *provider;
	struct gcprof_thread *thread = open_provider(&provider);
	int status;
	pid_t child;

	/* As one of another thread would be. */
	CHECK_EQ(gcprof_thread_attach(provider, NULL, &thread), 0);
	thread->owner = 0;
	child = fork();
	if (!child) {
		const struct gcprof_thread *left = provider->threads;

		_exit(!left || left->next || !pthread_equal(left->owner, pthread_self()) ||
		      left->head.on);
	}
	CHECK_EQ(waitpid(child, &status, 0), child);
	CHECK_EQ(status, 0);
}
