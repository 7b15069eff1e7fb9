/* SPDX-License-Identifier: BSD-2-Clause */
/* model_life.c: tests of lifetimes, allocation sites, windows of time and utilisation. */
#include "model/world/timeline.h"
#include "model/gc/cycles.h"
#include "synthetic.h"

enum {
	DIED_YOUNG = 1,
	PROMOTED = 2,
	DIED_OLD = 4,
	FREED = 5,
	COPIED = 6,
	UNKNOWN = 7,
	REPLACED = 8,
	MINOR = 1,
	STEP = 2,
	FULL = 3,
	MARKING = 2
};

struct writer_state {
	struct synthetic synthetic;
	uint64_t time, sample, cycle, stack;
};

static void begin(struct writer_state *state)
{
	struct synthetic *synthetic = &state->synthetic;
	uint64_t frames[5];

	*state = (struct writer_state){.time = 1000};
	synthetic_begin(synthetic);
	synthetic_process(synthetic, state->time);
	synthetic_own(synthetic, "/bin/app", 4, 1);
	frames[0] = synthetic_function(synthetic, "/bin/app", 1, "main");
	frames[1] = synthetic_function(synthetic, "/bin/app", 2, "middle");
	frames[2] = synthetic_function(synthetic, "/bin/app", 3, "maker");
	frames[3] = synthetic_function(synthetic, "/bin/app", 4, "gc_alloc_slow");
	frames[4] = 0;
	state->stack = synthetic_stack(synthetic, frames);
	PUT(synthetic, type, .process = 1, .type = 1, .name = synthetic_string(synthetic, "box"));
}

/* All samples have probability 1, so estimates are exact. */
static uint64_t put_alloc(struct writer_state *state, uint64_t size)
{
	PUT(&state->synthetic, alloc, .time = ++state->time, .thread = 1, .stack = state->stack,
	    .sample = ++state->sample, .type = 1, .size = size, .period = 1, .kind = 1);
	return state->sample;
}

static void put_fate(struct writer_state *state, uint64_t sample, uint64_t outcome, uint64_t age)
{
	PUT(&state->synthetic, fate, .time = state->time, .process = 1, .sample = sample,
	    .outcome = outcome, .age = age);
}

static void put_collection(struct writer_state *state, uint64_t kind, uint64_t pause)
{
	PUT(&state->synthetic, gc_begin, .time = state->time, .thread = 1, .heap = 1,
	    .cycle = ++state->cycle, .kind = kind, .reason = kind == FULL ? 4 : 1);
	state->time += pause;
	PUT(&state->synthetic, gc_end, .time = state->time, .thread = 1, .heap = 1,
	    .cycle = state->cycle, .kind = kind, .has_stats = 1, .live_bytes = 777,
	    .arena_bytes = 1000, .nursery_used = 4096, .rss_bytes = 5000);
}

static struct model *finish(struct writer_state *state)
{
	struct model *model;

	model = synthetic_loaded(&state->synthetic, state->time + 1);
	synthetic_free(&state->synthetic);
	return model;
}

static void put_marking(struct writer_state *state)
{
	PUT(&state->synthetic, phase, .time = ++state->time, .thread = 1, .heap = 1,
	    .phase = MARKING);
}

/* A runtime with a non-moving heap: no ages, and cycles instead of collections. */
TEST(without_generations_no_promotion_is_premature)
{
	struct writer_state state;
	const struct model_type *type;
	const struct life *life;
	struct model *model;
	uint64_t samples[4];

	begin(&state);
	for (int i = 0; i < 4; i++)
		samples[i] = put_alloc(&state, 1000);
	state.time += 100;
	put_fate(&state, samples[0], DIED_YOUNG, 0);
	for (int i = 1; i < 4; i++)
		put_fate(&state, samples[i], PROMOTED, 0);
	PUT(&state.synthetic, gc_cycle, .time = state.time, .process = 1, .heap = 1, .span = 50);
	put_collection(&state, 5, 10);
	state.time += 100;
	put_fate(&state, samples[1], DIED_OLD, 0);
	PUT(&state.synthetic, gc_cycle, .time = state.time, .process = 1, .heap = 1, .span = 50);
	put_fate(&state, samples[2], DIED_OLD, 0);
	model = finish(&state);
	CHECK_EQ(model->refused, 0);
	type = find_type(model, "box");
	life = &type->life;
	CHECK(is_near(type->survived.value, 0.75, 1e-9));
	CHECK(is_near(type->live_bytes, 1000, 1e-6));
	CHECK(is_near(model->alloc.live_bytes, 1000, 1e-6));
	CHECK(is_near(life->promoted_bytes, 3000, 1e-6));
	CHECK(is_near(life->old_bytes, 2000, 1e-6));
	CHECK(life->premature_bytes == 0);
	CHECK_EQ(life_median_age(life), 0);
	/* A stop is not charged to any object; both cycles are. */
	CHECK(is_near(type->gc_ns.value, 100, 1e-3));
	CHECK(model->gc.unattributed_ns == 0);
	CHECK_EQ(model->gc.others.total_ns, 10);
	model_free(model);
}

static uint64_t put_kind(struct writer_state *state, uint64_t size, uint64_t kind)
{
	PUT(&state->synthetic, alloc, .time = ++state->time, .thread = 1, .stack = state->stack,
	    .sample = ++state->sample, .type = 1, .size = size, .period = 1, .kind = kind);
	return state->sample;
}

static uint64_t put_foreign(struct writer_state *state, uint64_t size)
{
	return put_kind(state, size, 4);
}

TEST(freed_objects_are_dead_and_the_others_live)
{
	struct writer_state state;
	const struct model_type *type;
	struct model *model;
	uint64_t freed, young, old;

	begin(&state);
	freed = put_foreign(&state, 1000);
	put_foreign(&state, 2000);
	put_fate(&state, freed, FREED, 5000);
	put_fate(&state, freed, FREED, 9000);
	model = finish(&state);
	CHECK_EQ(model->refused, 0);
	type = find_type(model, "box");
	CHECK(type->survived.value < 0);
	CHECK(is_near(type->live_bytes, 2000, 1e-6));
	CHECK(is_near(model->alloc.live_bytes, 2000, 1e-6));
	CHECK_EQ(life_median_age(&type->life), 8192);
	model_free(model);

	/* Objects of a collected heap. */
	begin(&state);
	young = put_alloc(&state, 1000);
	old = put_alloc(&state, 3000);
	put_alloc(&state, 4000);
	put_fate(&state, young, FREED, 5000);
	put_fate(&state, old, PROMOTED, 6000);
	put_collection(&state, MINOR, 10);
	put_fate(&state, old, FREED, 7000);
	model = finish(&state);
	CHECK_EQ(model->refused, 0);
	type = find_type(model, "box");
	CHECK(is_near(type->survived.value, 0.5, 1e-9));
	CHECK(type->live_bytes < 1);
	CHECK(is_near(type->life.old_bytes, 3000, 1e-6));
	CHECK(type->life.premature_bytes == 0);
	model_free(model);
}

enum { MANUAL = 5 };

TEST(what_is_unknown_is_neither_dead_nor_alive_and_others_stand_for_what_was_replaced)
{
	static const struct {
		uint64_t outcome, live; /* of two old objects of 100 bytes, one has this outcome */
		uint64_t lost;
	} cases[] = {{COPIED, 200, 0}, {DIED_OLD, 100, 0}, {UNKNOWN, 100, 1}, {REPLACED, 200, 0}};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct writer_state state;
		struct model *model;
		uint64_t samples[2];

		begin(&state);
		for (size_t n = 0; n < 2; n++) {
			samples[n] = put_alloc(&state, 100);
			put_fate(&state, samples[n], PROMOTED, 10);
		}
		put_collection(&state, MINOR, 10);
		put_fate(&state, samples[0], cases[i].outcome, 20);
		/* An object without a first outcome has none afterwards. */
		put_fate(&state, put_alloc(&state, 100), UNKNOWN, 30);
		put_collection(&state, MINOR, 10);
		model = finish(&state);
		CHECK_EQ(model->alloc.fates, 2);
		CHECK_EQ(model->alloc.lost_fates, cases[i].lost + 1);
		CHECK(is_near(model->alloc.live.value, (double)cases[i].live, 1e-6));
		CHECK(is_near(model->sites[0].live_bytes, (double)cases[i].live, 1e-3));
		CHECK(is_near(model->types[0].live_bytes, (double)cases[i].live, 1e-3));
		CHECK(is_near(model->types[0].life.premature_bytes,
			      cases[i].outcome == DIED_OLD ? 100 : 0, 1e-3));
		model_free(model);
	}
}

TEST(manual_objects_are_live_until_freed)
{
	struct writer_state state;
	struct model *model;
	uint64_t freed;

	begin(&state);
	put_kind(&state, 2000, MANUAL);
	model = finish(&state);
	CHECK(is_near(model->alloc.live_bytes, 2000, 1e-6));
	CHECK(is_near(model->alloc.live.value, 2000, 1e-6));
	CHECK(model->alloc.live.low <= 2000 && model->alloc.live.high >= 2000);
	model_free(model);

	/*
	 * Objects of heaps without any free are not live, and no collection ends the cycle of
	 * these.
	 */
	begin(&state);
	freed = put_kind(&state, 1000, MANUAL);
	put_kind(&state, 2000, MANUAL);
	put_foreign(&state, 4000);
	state.time += 100;
	put_fate(&state, freed, FREED, 5000);
	put_fate(&state, freed, FREED, 5000);
	put_collection(&state, MINOR, 10);
	model = finish(&state);
	CHECK_EQ(model->refused, 0);
	CHECK(is_near(model->alloc.live_bytes, 2000, 1e-6));
	CHECK(find_type(model, "box")->survived.value < 0);
	CHECK(model->gc.unattributed_ns == 0);
	CHECK_EQ(timeline_at(model->timeline, state.time)->unfreed_bytes, 2000);
	model_free(model);
}

/* The second library's sample has the number of the first one's, whose outcome stays unknown. */
TEST(a_library_that_is_loaded_again_may_repeat_numbers)
{
	struct writer_state state;
	struct model *model;
	uint64_t first, again;

	begin(&state);
	first = put_alloc(&state, 1000);
	state.sample = 0;
	again = put_alloc(&state, 500);
	CHECK_EQ(first, again);
	put_fate(&state, again, PROMOTED, 6000);
	put_collection(&state, MINOR, 10);
	put_fate(&state, again, DIED_OLD, 9000);
	put_alloc(&state, 100);
	model = finish(&state);
	CHECK_EQ(model->refused, 0);
	CHECK_EQ(model->alloc.samples, 3);
	CHECK(is_near(model->alloc.bytes.value, 1600, 1e-6));
	CHECK(is_near(find_type(model, "box")->life.promoted_bytes, 500, 1e-6));
	CHECK(is_near(model->alloc.live_bytes, 0, 1e-6));
	model_free(model);
}

TEST(deaths_are_classified)
{
	struct writer_state state;
	struct model *model;
	const struct life *life;
	uint64_t young, premature, during, late, alive;

	begin(&state);
	young = put_alloc(&state, 1000);
	premature = put_alloc(&state, 2000);
	late = put_alloc(&state, 4000);
	alive = put_alloc(&state, 8000);
	put_fate(&state, young, DIED_YOUNG, 5000);
	put_fate(&state, premature, PROMOTED, 5000);
	put_fate(&state, late, PROMOTED, 5000);
	put_fate(&state, alive, PROMOTED, 5000);
	put_collection(&state, MINOR, 10);
	put_marking(&state);
	/* Promoted during marking: this cycle cannot find it dead, the next one can. */
	during = put_alloc(&state, 16000);
	put_fate(&state, during, PROMOTED, 5000);
	put_collection(&state, MINOR, 10);
	put_fate(&state, premature, DIED_OLD, 100000);
	put_marking(&state);
	put_fate(&state, during, DIED_OLD, 200000);
	put_fate(&state, late, DIED_OLD, 300000);
	model = finish(&state);
	CHECK_EQ(model->n_types, 1);
	life = &model->types[0].life;
	CHECK_EQ(life->samples, 5);
	CHECK(is_near(life->promoted_bytes, 30000, 1e-6));
	CHECK(is_near(life->premature_bytes, 2000 + 16000, 1e-6));
	CHECK(is_near(life->old_bytes, 4000, 1e-6));
	CHECK(is_near(life_live_bytes(life), 8000, 1e-6));
	CHECK(is_near(life_live_bytes(life), model->types[0].live_bytes, 1e-6));
	CHECK(is_near((double)life->ages[age_class(5000)], 1000, 1e-3));
	CHECK(is_near((double)life->ages[age_class(100000)], 2000, 1e-3));
	CHECK(is_near(life->survived.some / life->survived.all, 30000.0 / 31000, 1e-9));
	/* Half of the dead bytes had an age of 200000 or more; the class ends at 262144. */
	CHECK_EQ(life_median_age(life), 262144);
	CHECK_EQ(age_limit(age_class(0)), 4096);
	CHECK_EQ(age_class(4095), 0);
	CHECK_EQ(age_class(4096), 1);
	CHECK_EQ(age_class(UINT64_MAX), AGE_CLASSES - 1);
	model_free(model);
}

TEST(sites_are_functions_with_their_callers)
{
	struct writer_state state;
	struct model *model;
	const struct model_site *site;

	begin(&state);
	put_alloc(&state, 1000);
	put_alloc(&state, 3000);
	put_collection(&state, MINOR, 500);
	model = finish(&state);
	CHECK_EQ(model->n_sites, 1);
	site = &model->sites[0];
	CHECK_STR(site->functions[0], "maker");
	CHECK_STR(site->functions[1], "middle");
	CHECK_STR(site->functions[2], "main");
	CHECK_STR(site->type, "box");
	CHECK(is_near(site->bytes.value, 4000, 1e-6));
	CHECK(is_near(site->gc_ns.value, 500, 1e-6));
	CHECK(site->survived.value < 0);
	model_free(model);
}

TEST(function_and_thread_intervals_match_the_total)
{
	struct synthetic synthetic;
	struct model *model;
	const struct model_function *maker, *root;
	uint64_t frame, inner, outer;

	synthetic_program(&synthetic, 1000);
	frame = synthetic_function(&synthetic, "/bin/app", 1, "root");
	outer = synthetic_stack(&synthetic, (uint64_t[]){frame, 0});
	inner = synthetic_stack(
		&synthetic,
		(uint64_t[]){frame, synthetic_function(&synthetic, "/bin/app", 2, "maker"), 0});
	for (uint64_t i = 1; i <= 50; i++)
		PUT(&synthetic, alloc, .time = 2000 + i, .thread = 1,
		    .stack = i % 2 ? inner : outer, .sample = i, .type = 1, .size = 16 * i,
		    .period = 1000, .kind = 1);
	model = synthetic_loaded(&synthetic, 4000);
	root = find_function(model, "root");
	maker = find_function(model, "maker");
	/* Everything is allocated below root, in one thread. */
	CHECK(is_near(root->alloc_total.low, model->alloc.bytes.low, 1e-6));
	CHECK(is_near(root->alloc_total.high, model->alloc.bytes.high, 1e-6));
	CHECK(is_near(model->threads[0].alloc.high, model->alloc.bytes.high, 1e-6));
	CHECK(is_near(root->alloc_total.value, root->alloc_total_bytes, 1e-6));
	CHECK(maker->alloc_self.low < maker->alloc_self_bytes);
	CHECK(maker->alloc_self.high > maker->alloc_self_bytes);
	CHECK(is_near(maker->alloc_self.value + root->alloc_self.value, root->alloc_total.value,
		      1e-6));
	/* Half of the samples: a relatively wider interval. */
	CHECK(maker->alloc_self.high / maker->alloc_self.value >
	      root->alloc_total.high / root->alloc_total.value);
	synthetic_close(&synthetic, model);
}

TEST(windows_double_and_keep_their_sums)
{
	struct timeline timeline = {0};
	uint64_t random = test_seed(), allocated = 0, paused = 0, time = 5000;
	double found = 0;
	uint64_t pauses = 0;

	timeline_begin(&timeline, time);
	for (int i = 0; i < 3000; i++) {
		uint64_t bytes = test_random(&random) % 1000, pause = test_random(&random) % 900000;

		time += test_random(&random) % 2000000;
		tally_add(&timeline_at(&timeline, time)->alloc, (double)bytes, 1);
		timeline_pause(&timeline, time, time + pause);
		allocated += bytes;
		paused += pause;
		time += pause;
	}
	CHECK(timeline.count > TIMELINE_WINDOWS / 2 && timeline.count <= TIMELINE_WINDOWS);
	for (size_t i = 0; i < TIMELINE_WINDOWS; i++) {
		found += timeline.windows[i].alloc.value;
		pauses += timeline.windows[i].pause_ns;
		CHECK(timeline.windows[i].pause_ns <= timeline.step_ns);
	}
	CHECK(is_near(found, (double)allocated, 1e-3));
	CHECK_EQ(pauses, paused);
	/* Impossible times are harmless. */
	timeline_at(&timeline, 0)->cpu_ns++;
	timeline_at(&timeline, UINT64_MAX)->cpu_ns++;
	timeline_pause(&timeline, 0, UINT64_MAX);
	timeline_pause(&timeline, 10, 5);
}

TEST(timeline_figures_come_from_collections)
{
	struct writer_state state;
	struct model *model;
	const struct timeline *timeline;

	begin(&state);
	put_alloc(&state, 1000);
	state.time = 3 * 1000000 + 1000 + 500;
	put_collection(&state, MINOR, 2000000);
	put_collection(&state, FULL, 100);
	model = finish(&state);
	timeline = model->timeline;
	CHECK_EQ(timeline->start, 1000);
	CHECK_EQ(timeline->step_ns, 1000000);
	CHECK(is_near(timeline->windows[0].alloc.value, 1000, 1e-6));
	CHECK_EQ(timeline->windows[3].pause_ns, 1000000 - 500);
	CHECK_EQ(timeline->windows[4].pause_ns, 1000000);
	CHECK_EQ(timeline->windows[5].pause_ns, 500 + 100);
	CHECK_EQ(timeline->windows[5].minor, 1);
	CHECK_EQ(timeline->windows[5].major, 1);
	CHECK_EQ(timeline->windows[5].heap_bytes, 1000);
	CHECK_EQ(timeline->windows[5].live_bytes, 777);
	CHECK_EQ(timeline->windows[5].rss_bytes, 5000);
	CHECK_EQ(model->gc.reasons[1].count, 1);
	CHECK_EQ(model->gc.reasons[4].count, 1);
	CHECK_EQ(model->gc.reasons[4].total_ns, 100);
	CHECK_EQ(model->gc.nursery_bytes, 4096);
	model_free(model);
}

/* The same by brute force: tries all positions of the window, in whole ms. */
static double least_share(const bool *paused, int length, int window)
{
	int most = 0;

	for (int at = 0; at + window <= length; at++) {
		int inside = 0;

		for (int i = at; i < at + window; i++)
			inside += paused[i];
		most = inside > most ? inside : most;
	}
	return 1 - (double)most / window;
}

TEST(pauses_of_two_threads_overlap_or_not)
{
	/* One begins when another ends; a nested one; in another thread, of another process. */
	const struct pause all[] = {{.process = 1, .thread = 1, .begin = 1000, .end = 2000},
				    {.process = 1, .thread = 2, .begin = 2000, .end = 4000},
				    {.process = 1, .thread = 2, .begin = 2500, .end = 3000},
				    {.process = 2, .thread = 3, .begin = 3500, .end = 5000},
				    {.process = 1, .thread = 1, .begin = 3500, .end = 5000}};
	struct pause pauses[5];
	struct model_gc gc;

	memcpy(pauses, all, sizeof(all));
	utilisation_fill(pauses, 4, 1000000, &gc);
	CHECK_EQ(gc.any_ns, 3000 + 1500);
	CHECK(!gc.overlap);
	memcpy(pauses, all, sizeof(all));
	utilisation_fill(pauses, 5, 1000000, &gc);
	CHECK_EQ(gc.any_ns, 4000 + 1500);
	CHECK(gc.overlap);
}

TEST(utilisation_is_the_minimum_over_all_positions)
{
	uint64_t random = test_seed();

	for (int round = 0; round < 300; round++) {
		enum { LENGTH = 250 };
		bool paused[LENGTH] = {false};
		struct pause pauses[64];
		struct model_gc gc;
		size_t count = test_random(&random) % 40;
		uint64_t any = 0;

		/* Pauses may overlap and come in any order, but not near the ends. */
		for (size_t i = 0; i < count; i++) {
			uint64_t from = 100 + test_random(&random) % 40;
			uint64_t to = from + test_random(&random) % 4;

			pauses[i] = (struct pause){
				.process = 1, .begin = from * 1000000, .end = to * 1000000};
			for (uint64_t ms = from; ms < to; ms++)
				paused[ms] = true;
		}
		/* Another process with less pause time. */
		pauses[count] = (struct pause){.process = 2, .begin = 5000000, .end = 5000000};
		utilisation_fill(pauses, count + 1, UINT64_C(60000000), &gc);
		CHECK_EQ(gc.n_utilisation, 6);
		for (int ms = 0; ms < LENGTH; ms++)
			any += paused[ms] ? 1000000 : 0;
		CHECK_EQ(gc.any_ns, any);
		CHECK(!gc.overlap);
		for (size_t i = 0; i < gc.n_utilisation; i++) {
			int window = (int)(gc.utilisation[i].window_ns / 1000000);

			CHECK(is_near(gc.utilisation[i].minimum,
				      least_share(paused, LENGTH, window), 1e-9));
		}
	}
}
