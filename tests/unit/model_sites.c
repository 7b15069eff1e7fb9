/* SPDX-License-Identifier: BSD-2-Clause */
/* model_sites.c: tests of compact lives, the greatest values, and allocation sites. */
#include "model/rows/sites.h"
#include "model/world/stack_life.h"
#include "synthetic.h"

enum { STACKS = 8, EVENTS = 4000, NURSERY = 1 };

static uint64_t draw(uint64_t *random, uint64_t below)
{
	*random = *random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (*random >> 33) % below;
}

static void check_same(const struct life *a, const struct life *b)
{
	CHECK_EQ(a->type, b->type);
	CHECK_EQ(a->mixed != 0, b->mixed != 0);
	CHECK_EQ(a->samples, b->samples);
	CHECK(is_near(a->bytes.value, b->bytes.value, 1e-3));
	CHECK(is_near(a->bytes.variance, b->bytes.variance, 1));
	CHECK(is_near(a->bytes.observed, b->bytes.observed, 1e-3));
	CHECK(is_near(a->promoted_bytes, b->promoted_bytes, 1e-3));
	CHECK(is_near(a->premature_bytes, b->premature_bytes, 1e-3));
	for (unsigned i = 0; i < AGE_CLASSES; i++)
		CHECK(is_near((double)a->ages[i], (double)b->ages[i], 100));
}

/* A stack's compact life must equal a full one, whatever happens to its objects. */
TEST(compact_lives_equal_full_ones)
{
	struct life full[STACKS] = {0}, all = {0}, joined = {0};
	struct stack_lives lives;
	uint64_t random = 1;

	CHECK_EQ(stack_lives_init(&lives), 0);
	for (uint32_t i = 1; i <= STACKS; i++)
		CHECK_EQ(stack_lives_add(&lives), i);
	for (int i = 0; i < EVENTS; i++) {
		uint32_t stack = (uint32_t)draw(&random, STACKS), type = 1 + stack % 3;
		uint64_t size = 16 << draw(&random, 8), age = UINT64_C(1) << draw(&random, 40);
		struct life one = {.type = type, .samples = 1};

		tally_add(&one.bytes, (double)size, 0.5);
		stack_life_birth(&lives, stack + 1, type, size, 0.5);
		if (draw(&random, 2)) {
			one.ages[age_class(age)] = (float)size;
			CHECK_EQ(stack_life_death(&lives, stack + 1, age, (double)size), 0);
		}
		if (draw(&random, 4) == 0) {
			one.promoted_bytes = (double)size;
			one.premature_bytes = (double)size / 2;
			stack_life_old(&lives, stack + 1)->promoted_bytes += (double)size;
			stack_life_old(&lives, stack + 1)->premature_bytes += (double)size / 2;
		}
		life_merge(&full[stack], &one);
	}
	for (uint32_t i = 0; i < STACKS; i++) {
		struct life compact = {0};

		stack_life_merge(&compact, &lives, i + 1);
		check_same(&compact, &full[i]);
		life_merge(&all, &full[i]);
		if (i)
			stack_life_join(&lives, 1, i + 1);
	}
	stack_life_merge(&joined, &lives, 1);
	check_same(&joined, &all);
	stack_lives_free(&lives);
}

TEST(best_keeps_the_greatest)
{
	enum { MOST = 10, VALUES = 1000 };
	double values[VALUES], least = 1e9, best_left_out = 0;
	bool kept[VALUES] = {false};
	uint64_t random = 2;
	struct best *best;

	CHECK_EQ(best_create(MOST, &best), 0);
	best_offer(best, 0, 1);
	best_offer(best, -1, 1);
	CHECK_EQ(best_count(best), 0);
	for (uint32_t i = 0; i < VALUES; i++) {
		values[i] = 1 + (double)draw(&random, 500);
		best_offer(best, values[i], i);
		CHECK_EQ(best_count(best), i < MOST ? i + 1 : MOST);
	}
	for (size_t i = 0; i < MOST; i++) {
		uint32_t number = best_number(best, i);

		CHECK(!kept[number]);
		kept[number] = true;
		least = values[number] < least ? values[number] : least;
	}
	for (size_t i = 0; i < VALUES; i++)
		if (!kept[i] && values[i] > best_left_out)
			best_left_out = values[i];
	CHECK(least >= best_left_out);
	best_free(best);
}

/* One site per function; number i allocates i bytes. One collection, charged by bytes. */
static struct model *model_of_sites(unsigned n)
{
	struct synthetic synthetic;
	struct model *model;
	uint64_t frames[2] = {0};

	synthetic_program(&synthetic, 1000);
	PUT(&synthetic, type, .process = 1, .type = 1, .name = synthetic_string(&synthetic, "box"));
	for (unsigned i = 1; i <= n; i++) {
		char name[32];

		snprintf(name, sizeof(name), "site_%u", i);
		frames[0] = synthetic_function(&synthetic, "/bin/app", i, name);
		PUT(&synthetic, alloc, .time = 1000 + i, .thread = 1,
		    .stack = synthetic_stack(&synthetic, frames), .sample = i, .type = 1, .size = i,
		    .period = 1, .kind = NURSERY);
	}
	PUT(&synthetic, gc_begin, .time = 1001 + n, .thread = 1, .heap = 1, .cycle = 1, .kind = 1,
	    .reason = 1);
	PUT(&synthetic, gc_end, .time = 2001 + n, .thread = 1, .heap = 1, .cycle = 1, .kind = 1);
	model = synthetic_loaded(&synthetic, 3000 + n);
	synthetic_free(&synthetic);
	return model;
}

static void check_sites(unsigned n, size_t rows)
{
	struct model *model = model_of_sites(n);
	char name[32];

	CHECK_EQ(model->n_sites_found, n);
	CHECK_EQ(model->n_sites, rows);
	for (size_t i = 0; i < rows; i++) {
		snprintf(name, sizeof(name), "site_%zu", n - i);
		CHECK_STR(model->sites[i].functions[0], name);
		CHECK(is_near(model->sites[i].bytes.value, (double)(n - i), 1));
		CHECK_EQ(model->sites[i].life.samples, 1);
	}
	model_free(model);
}

TEST(only_the_first_of_many_sites_have_rows)
{
	check_sites(SITES_MAX, SITES_MAX);
	check_sites(SITES_MAX + 500, SITES_MAX);
}

static uint64_t managed_function(struct synthetic *synthetic, uint64_t code, const char *name)
{
	PUT(synthetic, code, .process = 1, .code = code, .name = synthetic_string(synthetic, name));
	return profile_writer_managed(synthetic->writer, 1, code, 0);
}

/* The only site of an object with this stack, as in reports. */
static void check_site(struct synthetic *synthetic, const uint64_t *frames, const char *wanted)
{
	struct model *model;
	char found[100] = "";

	PUT(synthetic, alloc, .time = 1001, .thread = 1,
	    .stack = synthetic_stack(synthetic, frames), .sample = 1, .size = 64, .period = 1,
	    .kind = NURSERY);
	synthetic_end(synthetic, 3000);
	model = synthetic_model(synthetic);
	CHECK_EQ(model->n_sites, 1);
	for (size_t i = 0; i < SITE_FUNCTIONS && model->sites[0].functions[i]; i++) {
		strcat(found, i ? " < " : "");
		strcat(found, model->sites[0].functions[i]);
	}
	CHECK_STR(found, wanted);
	model_free(model);
}

TEST(functions_of_a_runtime_between_those_that_it_runs_are_in_no_site)
{
	for (int outer = 0; outer < 2; outer++) {
		struct synthetic synthetic;
		uint64_t start, first, call, second, copy;

		synthetic_program(&synthetic, 1000);
		start = synthetic_function(&synthetic, "/bin/app", 0x10, "start");
		call = synthetic_function(&synthetic, "/bin/app", 0x20, "call");
		copy = synthetic_function(&synthetic, "/bin/app", 0x30, "copy");
		first = managed_function(&synthetic, 1, "first");
		second = managed_function(&synthetic, 2, "second");
		if (outer)
			check_site(&synthetic,
				   (uint64_t[]){start, first, call, call, second, copy, 0},
				   "copy < second < first");
		else
			check_site(&synthetic, (uint64_t[]){start, call, second, 0},
				   "second < call < start");
		synthetic_free(&synthetic);
	}
}
