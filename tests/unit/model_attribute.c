/* SPDX-License-Identifier: BSD-2-Clause */
/* model_attribute.c: tests of survival and of the attribution of collection time. */
#include <math.h>

#include "model/gc/attribute.h"
#include "model/world/charging.h"
#include "synthetic.h"

enum { DIED_YOUNG = 1, PROMOTED = 2, PINNED = 3, DIED_OLD = 4, COPIED = 6, UNKNOWN = 7 };

struct writer_state {
	struct synthetic synthetic;
	uint64_t time, sample, cycle;
	uint64_t stacks[8];
};

static void begin(struct writer_state *state)
{
	char name[16];

	*state = (struct writer_state){.time = 1000};
	synthetic_begin(&state->synthetic);
	synthetic_process(&state->synthetic, state->time);
	for (uint64_t i = 0; i < 8; i++) {
		snprintf(name, sizeof(name), "f%" PRIu64, i);
		state->stacks[i] = synthetic_stack(
			&state->synthetic,
			(uint64_t[]){synthetic_function(&state->synthetic, "/bin/app", i, name),
				     0});
		PUT(&state->synthetic, type, .process = 1, .type = i + 1,
		    .name = synthetic_string(&state->synthetic, name));
	}
}

static uint64_t put_alloc(struct writer_state *state, uint64_t who, uint64_t size)
{
	PUT(&state->synthetic, alloc, .time = ++state->time, .thread = 1,
	    .stack = state->stacks[who], .sample = ++state->sample, .type = who + 1, .size = size,
	    .period = 1000, .kind = 1);
	return state->sample;
}

static void put_fate(struct writer_state *state, uint64_t sample, uint64_t outcome)
{
	PUT(&state->synthetic, fate, .time = state->time, .process = 1, .sample = sample,
	    .outcome = outcome, .collections = 1);
}

static void put_begin(struct writer_state *state, uint64_t kind)
{
	PUT(&state->synthetic, gc_begin, .time = ++state->time, .thread = 1, .heap = 1,
	    .cycle = ++state->cycle, .kind = kind, .reason = 1);
}

static void put_end(struct writer_state *state, uint64_t kind, uint64_t pause, uint64_t promoted)
{
	state->time += pause;
	PUT(&state->synthetic, gc_end, .time = state->time, .thread = 1, .heap = 1,
	    .cycle = state->cycle, .kind = kind, .has_stats = 1, .promoted_bytes = promoted);
}

static struct model *finish(struct writer_state *state)
{
	struct model *model;

	model = synthetic_loaded(&state->synthetic, state->time + 1);
	synthetic_free(&state->synthetic);
	return model;
}

/*
 * Compares the pauses with the self parts of all functions, types and sites, plus unattributed
 * time.
 */
static void check_sums(const struct model *model)
{
	double functions = 0, types = model->gc.unattributed_ns, sites = types;
	double pauses = (double)(model->gc.minor.total_ns + model->gc.major.total_ns);

	for (size_t i = 0; i < model->n_functions; i++) {
		CHECK(model->functions[i].gc_self_ns >= 0);
		functions += model->functions[i].gc_self_ns;
	}
	for (size_t i = 0; i < model->n_types; i++)
		types += model->types[i].gc_ns.value;
	/* Without an object that collections process, functions are charged with none. */
	if (model->alloc.collected)
		CHECK(is_near(functions, pauses, 1e-6 * pauses + 1e-3));
	else
		CHECK(functions == 0);
	for (size_t i = 0; i < model->n_sites; i++)
		sites += model->sites[i].gc_ns.value;
	CHECK(is_near(types, pauses, 1e-6 * pauses + 1e-3));
	CHECK(is_near(sites, pauses, 1e-6 * pauses + 1e-3));
}

static void random_cycle(struct writer_state *state, uint64_t *random, uint64_t *live, size_t *n)
{
	uint64_t kind = test_random(random) % 8 ? 1 : test_random(random) % 2 ? 2 : 3;
	size_t first = *n;

	/* Some cycles have no samples. */
	for (uint64_t i = test_random(random) % 6; i > 1; i--)
		live[(*n)++] =
			put_alloc(state, test_random(random) % 8, test_random(random) % 5000);
	put_begin(state, kind);
	for (size_t i = 0; i < *n; i++) {
		uint64_t dice = test_random(random) % 16;

		if (kind == 1 && i >= first && dice < 12)
			put_fate(state, live[i],
				 dice < 6    ? DIED_YOUNG
				 : dice < 11 ? PROMOTED
					     : PINNED);
		else if (kind != 1 && i < first && dice == 0)
			put_fate(state, live[i], DIED_OLD);
	}
	put_end(state, kind, 1 + test_random(random) % 100000, test_random(random) % 100000);
}

TEST(charges_always_add_up_to_the_pauses)
{
	uint64_t random = test_seed();

	for (int profile = 0; profile < 60; profile++) {
		struct writer_state state;
		struct model *model;
		uint64_t live[2048];
		size_t n = 0;

		begin(&state);
		for (uint64_t i = test_random(&random) % 60; i > 0; i--)
			random_cycle(&state, &random, live, &n);
		model = finish(&state);
		check_sums(model);
		model_free(model);
	}
}

/* 20 collections, of which each copies `step` more bytes than the one before. */
static struct minor_cost cost_of(double first, double step, double fixed, double per_byte,
				 double copying)
{
	struct charging charging = {0};

	for (int i = 0; i < 20; i++)
		charging_observe(&charging, 1, first + i * step,
				 fixed + per_byte * (first + i * step));
	return charging_cost(&charging, (struct copying){copying, 100});
}

TEST(collections_that_vary_show_what_copying_costs)
{
	struct charging none = {0};
	struct minor_cost cost = charging_cost(&none, (struct copying){0.5, 100});

	CHECK(cost.fixed_ns == 0 && cost.ns_per_byte == 0);
	/* Whatever stacks say. */
	cost = cost_of(1000, 1000, 5000, 0.25, 0.9);
	CHECK(is_near(cost.fixed_ns, 5000, 1e-3));
	CHECK(is_near(cost.ns_per_byte, 0.25, 1e-9));
	/* No part is negative. */
	cost = cost_of(10000, 10000, -9000, 1, 0.9);
	CHECK(cost.fixed_ns == 0 && cost.ns_per_byte > 0);
	cost = cost_of(1000, 1000, 50000, -1, 0.25);
	CHECK(is_near(cost.fixed_ns, 39500 * 0.75, 1e-6));
	CHECK(is_near(cost.ns_per_byte * 10500, 39500 * 0.25, 1e-6));
}

TEST(collections_that_are_alike_are_split_by_stacks)
{
	struct minor_cost cost = cost_of(1e6, 1000, 1e5, 0.1, 0.75);

	CHECK(is_near(cost.fixed_ns, 0.25 * (1e5 + 0.1 * 1009500), 1));
	CHECK(is_near(cost.ns_per_byte * 1009500, 0.75 * (1e5 + 0.1 * 1009500), 1));
	/* Without stacks, half of the shortest one is fixed. */
	cost = cost_of(1e6, 1000, 1e5, 0.1, -1);
	CHECK(is_near(cost.fixed_ns, 1e5, 1));
	/* What copies nothing is fixed. */
	cost = cost_of(0, 0, 1e5, 0.1, 0.75);
	CHECK(is_near(cost.fixed_ns, 1e5, 1) && cost.ns_per_byte == 0);
}

TEST(a_collection_is_not_charged_to_few_samples_only)
{
	struct writer_state state;
	struct model *model;

	begin(&state);
	/* Each collection has two samples. The only one of f2 is before the longest one. */
	for (uint64_t i = 0; i < 40; i++) {
		put_alloc(&state, 0, 100000);
		put_alloc(&state, i == 20 ? 2 : 1, 100000);
		put_begin(&state, 1);
		put_end(&state, 1, i == 20 ? 10000 : 1000, 0);
	}
	model = finish(&state);
	check_sums(model);
	/* The first 15 collections have 30 samples. The other 25 belong together. */
	CHECK(is_near(find_function(model, "f2")->gc_self_ns, (24 * 1000 + 10000) / 50.0, 1));
	model_free(model);
}

/* Collectors that report no sums. */
static void put_plain_end(struct writer_state *state, uint64_t pause)
{
	state->time += pause;
	PUT(&state->synthetic, gc_end, .time = state->time, .thread = 1, .heap = 1,
	    .cycle = state->cycle, .kind = 1);
}

TEST(objects_that_are_copied_again_are_charged_again)
{
	struct writer_state state;
	struct model *model;
	uint64_t last[2] = {0};

	begin(&state);
	for (uint64_t i = 0; i < 40; i++) {
		uint64_t once = put_alloc(&state, 0, 100000), twice = put_alloc(&state, 1, 100000);

		put_begin(&state, 1);
		put_fate(&state, once, PROMOTED);
		put_fate(&state, twice, PROMOTED);
		if (i)
			put_fate(&state, last[i % 2], COPIED);
		last[(i + 1) % 2] = twice;
		put_plain_end(&state, 1000);
	}
	model = finish(&state);
	check_sums(model);
	/* Half of each pause is fixed; f1 is copied 79 times, f0 40 times. */
	CHECK(is_near(find_function(model, "f0")->gc_self_ns, 40 * 250 + 40 * 500 * 40 / 119.0,
		      200));
	CHECK(is_near(find_function(model, "f1")->gc_self_ns, 40 * 250 + 40 * 500 * 79 / 119.0,
		      200));
	model_free(model);
}

/* Agents learn of outcomes after the pause. */
TEST(outcomes_may_come_after_the_collection)
{
	struct writer_state state;
	struct model *model;

	begin(&state);
	for (uint64_t i = 0; i < 40; i++) {
		uint64_t dies = put_alloc(&state, 0, 100000), lives = put_alloc(&state, 1, 100000);

		put_begin(&state, 1);
		put_plain_end(&state, 1000);
		put_fate(&state, dies, DIED_YOUNG);
		put_fate(&state, lives, PROMOTED);
	}
	model = finish(&state);
	check_sums(model);
	/* Half of each pause counts as fixed. */
	CHECK(is_near(find_function(model, "f0")->gc_self_ns, 40 * 250, 1));
	CHECK(is_near(find_function(model, "f1")->gc_self_ns, 40 * 750, 1));
	model_free(model);
}

TEST(copying_is_charged_to_promoted_objects)
{
	struct writer_state state;
	struct model *model;

	begin(&state);
	/* Each pause takes 1000 ns plus 1 ns per promoted byte. f0 dies, f1 is promoted. */
	for (uint64_t i = 0; i < 10; i++) {
		uint64_t dies = put_alloc(&state, 0, 100000 * (i + 1));
		uint64_t lives = put_alloc(&state, 1, 100000 * (i + 1));

		put_begin(&state, 1);
		put_fate(&state, dies, DIED_YOUNG);
		put_fate(&state, lives, PROMOTED);
		put_end(&state, 1, 1000 + i * 500, i * 500);
	}
	model = finish(&state);
	check_sums(model);
	CHECK(is_near(model->gc.fixed_ns, 1000, 1e-3));
	CHECK(is_near(model->gc.copy_ns_per_byte, 1, 1e-6));
	/* The fixed part is split evenly; the copying part belongs to f1. */
	CHECK(is_near(find_function(model, "f0")->gc_self_ns, 5000, 1));
	CHECK(is_near(find_function(model, "f1")->gc_self_ns, 5000 + 500 * 45, 1));
	/* If f0 allocated nothing, its share of the fixed part would be saved; what f1 keeps is
	 * also saved if it allocates nothing. */
	CHECK(is_near(find_type(model, "f0")->gc_allocating_ns.value, 5000, 1));
	CHECK(is_near(find_type(model, "f0")->gc_keeping_ns.value, 0, 1e-6));
	CHECK(is_near(find_type(model, "f1")->gc_keeping_ns.value, 500 * 45, 1));
	CHECK(is_near(find_type(model, "f1")->gc_allocating_ns.value, 5000 + 500 * 45, 1));
	CHECK(find_type(model, "f1")->kept_known);
	for (size_t i = 0; i < model->n_types; i++) {
		const struct estimate *ns = &model->types[i].gc_ns;

		CHECK(ns->low <= ns->value && ns->value < ns->high);
	}
	model_free(model);
}

TEST(major_collections_are_charged_to_live_objects)
{
	struct writer_state state;
	struct model *model;
	uint64_t one, two;

	begin(&state);
	one = put_alloc(&state, 0, 100000);
	two = put_alloc(&state, 1, 300000);
	put_begin(&state, 1);
	put_fate(&state, one, PROMOTED);
	put_fate(&state, two, PROMOTED);
	put_end(&state, 1, 0, 400000);
	put_alloc(&state, 2, 999999); /* young: not charged for a major collection */
	put_begin(&state, 3);
	put_end(&state, 3, 4000, 0);
	put_begin(&state, 3);
	put_fate(&state, two, DIED_OLD);
	put_end(&state, 3, 500, 0);
	model = finish(&state);
	check_sums(model);
	CHECK(is_near(find_function(model, "f0")->gc_self_ns, 1000 + 500, 1e-3));
	CHECK(is_near(find_function(model, "f1")->gc_self_ns, 3000, 1e-3));
	CHECK(is_near(find_function(model, "f2")->gc_self_ns, 0, 1e-9));
	CHECK(is_near(find_type(model, "f0")->live_bytes, 100000, 1e-3));
	CHECK(is_near(find_type(model, "f1")->live_bytes, 0, 1e-3));
	CHECK(is_near(model->alloc.live_bytes, 100000, 1e-3));
	model_free(model);
}

static void put_cycle(struct writer_state *state, uint64_t span)
{
	state->time += span;
	PUT(&state->synthetic, gc_cycle, .time = state->time, .process = 1, .heap = 1,
	    .cycle = ++state->cycle, .span = span);
}

/* As Go's are: beside the program, without a nursery. */
TEST(cycles_are_charged_to_live_objects_that_have_references)
{
	struct writer_state state;
	struct model *model;
	uint64_t first, plain;

	begin(&state);
	PUT(&state.synthetic, type, .process = 1, .type = 2,
	    .name = synthetic_string(&state.synthetic, "f1"), .plain = 1);
	put_alloc(&state, 2, 100000);
	first = put_alloc(&state, 0, 100000);
	plain = put_alloc(&state, 1, 300000);
	put_cycle(&state, 3000);
	put_fate(&state, first, PROMOTED);
	put_fate(&state, plain, PROMOTED);
	put_cycle(&state, 1000);
	model = finish(&state);
	/* The first cycle is split over all by bytes; the second one is what keeping costs. */
	CHECK(is_near(find_type(model, "f2")->gc_ns.value, 600, 1e-2));
	CHECK(is_near(find_type(model, "f1")->gc_ns.value, 1800, 1e-2));
	CHECK(is_near(find_type(model, "f0")->gc_ns.value, 600 + 250, 1e-2));
	CHECK(is_near(find_function(model, "f1")->gc_ns.value, 1800, 1e-2));
	model_free(model);
}

/* As if they lived: where they move is not known. */
TEST(major_collections_are_charged_to_objects_that_are_lost_in_them)
{
	struct writer_state state;
	struct model *model;
	uint64_t stays, lost;

	begin(&state);
	stays = put_alloc(&state, 0, 100000);
	lost = put_alloc(&state, 1, 300000);
	put_begin(&state, 1);
	put_fate(&state, stays, PROMOTED);
	put_fate(&state, lost, PROMOTED);
	put_end(&state, 1, 0, 400000);
	put_alloc(&state, 2, 999999);
	put_begin(&state, 3);
	put_fate(&state, lost, UNKNOWN);
	put_end(&state, 3, 4000, 0);
	model = finish(&state);
	check_sums(model);
	CHECK(is_near(find_function(model, "f0")->gc_self_ns, 1000, 1e-3));
	CHECK(is_near(find_function(model, "f1")->gc_self_ns, 3000, 1e-3));
	CHECK(is_near(find_function(model, "f2")->gc_self_ns, 0, 1e-9));
	model_free(model);
}

TEST(cycles_without_samples_are_charged_to_the_next_or_to_none)
{
	struct writer_state state;
	struct model *model;

	begin(&state);
	put_begin(&state, 1);
	put_end(&state, 1, 100, 0);
	put_alloc(&state, 0, 100000);
	put_begin(&state, 1);
	put_end(&state, 1, 200, 0);
	put_begin(&state, 1);
	put_end(&state, 1, 50, 0);
	model = finish(&state);
	check_sums(model);
	CHECK(is_near(find_function(model, "f0")->gc_self_ns, 300, 1e-6));
	CHECK(is_near(find_function(model, "(no samples)")->gc_self_ns, 50, 1e-6));
	CHECK(is_near(model->gc.unattributed_ns, 50, 1e-6));
	model_free(model);
}

TEST(survival_depends_on_the_first_outcome)
{
	struct writer_state state;
	struct model *model;
	uint64_t samples[10];

	begin(&state);
	for (int i = 0; i < 10; i++)
		samples[i] = put_alloc(&state, 0, 1000000);
	put_begin(&state, 1);
	for (int i = 0; i < 8; i++)
		put_fate(&state, samples[i], i < 5 ? DIED_YOUNG : i < 7 ? PROMOTED : PINNED);
	put_end(&state, 1, 100, 2000000);
	put_begin(&state, 3);
	put_fate(&state, samples[5], DIED_OLD);
	put_fate(&state, samples[7], PROMOTED); /* the pinned one, promoted later */
	put_fate(&state, 4711, DIED_YOUNG);     /* unknown sample */
	put_end(&state, 3, 100, 0);
	model = finish(&state);
	/* 3 of 8: two have no known outcome. */
	CHECK_EQ(find_type(model, "f0")->fates, 8);
	CHECK(is_near(find_type(model, "f0")->survived.value, 3.0 / 8, 1e-9));
	CHECK(is_near(find_type(model, "f0")->live_bytes, 2e6, 1));
	CHECK(is_near(find_function(model, "f0")->survived_bytes, 3e6, 1));
	CHECK(is_near(find_function(model, "f0")->fate_known_bytes, 8e6, 1));
	CHECK_EQ(model->refused, 0);
	model_free(model);
}
