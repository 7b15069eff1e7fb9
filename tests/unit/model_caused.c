/* SPDX-License-Identifier: BSD-2-Clause */
/* model_caused.c: tests of what collections cost because of a site, and what would be saved
 * without, and how often the intervals hold the truth. */
#include <math.h>

#include "model/gc/sample.h"
#include "model/world/caused.h"
#include "synthetic.h"

/* Fixed seeds make the results reproducible. */
enum { SEED = 1, RUNS = 20, SITES = 6, CYCLES = 40, FULL = 10, PERIOD = 65536 };
enum { DIED = 1, PROMOTED = 2, FREED = 5, MINOR = 1, WHOLE = 3 };

#define TICK 1e6 /* of 1000 Hz */

/* A site's objects: their size, bytes of each cycle, and the share of them that becomes old. */
struct site {
	uint64_t size;
	double bytes, kept;
};

static const struct site sites[SITES] = {
	{64, 4 << 20, 0.5},   {320, 16 << 20, 0.02}, {48, 1 << 20, 0.9},
	{1024, 8 << 20, 0.1}, {80, 300 << 10, 0},    {24, 2 << 20, 0.25},
};

/* What collections really take: each, for each promoted byte, for each old byte in a full one. */
struct costs {
	double fixed, copied, kept;
};

static double uniform(uint64_t *state)
{
	return ((double)(test_random(state) >> 11) + 0.5) / 9007199254740992.0;
}

static uint64_t poisson(uint64_t *state, double mean)
{
	uint64_t n = 0;

	for (double at = -log(uniform(state)); at < mean; at -= log(uniform(state)))
		n++;
	return n;
}

struct run {
	struct synthetic synthetic;
	uint64_t state, time, sample, cycle, of[SITES], copying, roots, marking;
};

static uint64_t stack_of(struct run *run, const char *name)
{
	uint64_t frame = synthetic_function(&run->synthetic, "/bin/app", ++run->sample, name);

	return synthetic_stack(&run->synthetic, (uint64_t[]){frame, 0});
}

static void begin(struct run *run, uint64_t seed)
{
	struct synthetic *to = &run->synthetic;

	*run = (struct run){.state = seed, .time = 1000};
	synthetic_begin(to);
	synthetic_process(to, run->time);
	PUT(to, runtime, .process = 1, .name = synthetic_string(to, "machine"),
	    .collector = synthetic_string(to, "copy scan mark"),
	    .copying = synthetic_string(to, "copy"), .roots = synthetic_string(to, "scan"),
	    .marking = synthetic_string(to, "mark"));
	for (size_t i = 0; i < SITES; i++)
		run->of[i] = stack_of(run, (char[]){'f', (char)('0' + i), '\0'});
	run->copying = stack_of(run, "copy");
	run->roots = stack_of(run, "scan");
	run->marking = stack_of(run, "mark");
}

/* So many samples of a site, whose first number is returned. */
static uint64_t allocate(struct run *run, size_t i, uint64_t *count)
{
	double p = sample_probability(sites[i].size, PERIOD);

	*count = poisson(&run->state, sites[i].bytes / (double)sites[i].size * p);
	for (uint64_t n = 0; n < *count; n++)
		PUT(&run->synthetic, alloc, .time = ++run->time, .thread = 1, .stack = run->of[i],
		    .sample = run->sample + n + 1, .size = sites[i].size, .period = PERIOD,
		    .kind = 1);
	run->sample += *count;
	return run->sample - *count + 1;
}

/* Timer samples in one part of a pause that takes so long. */
static void work(struct run *run, uint64_t stack, double ns)
{
	for (uint64_t n = poisson(&run->state, ns / TICK); n; n--)
		PUT(&run->synthetic, cpu, .time = ++run->time, .thread = 1, .stack = stack,
		    .mode = 1);
	run->time += (uint64_t)ns;
}

static void pause_begin(struct run *run, uint64_t kind)
{
	PUT(&run->synthetic, gc_begin, .time = ++run->time, .thread = 1, .heap = 1,
	    .cycle = ++run->cycle, .kind = kind, .reason = 1);
}

static void pause_end(struct run *run, uint64_t kind, double promoted)
{
	PUT(&run->synthetic, gc_end, .time = ++run->time, .thread = 1, .heap = 1,
	    .cycle = run->cycle, .kind = kind, .has_stats = 1,
	    .promoted_bytes = (uint64_t)promoted);
}

/* What a cycle of all sites promotes. */
static double promoted_bytes(void)
{
	double bytes = 0;

	for (size_t i = 0; i < SITES; i++)
		bytes += sites[i].bytes * sites[i].kept;
	return bytes;
}

static void one_cycle(struct run *run, const struct costs *costs, int number)
{
	uint64_t first[SITES], count[SITES];
	double promoted = promoted_bytes();

	for (size_t i = 0; i < SITES; i++)
		first[i] = allocate(run, i, &count[i]);
	pause_begin(run, MINOR);
	for (size_t i = 0; i < SITES; i++)
		for (uint64_t n = 0; n < count[i]; n++)
			PUT(&run->synthetic, fate, .time = run->time, .process = 1,
			    .sample = first[i] + n, .collections = 1,
			    .outcome = uniform(&run->state) < sites[i].kept ? PROMOTED : DIED);
	work(run, run->roots, costs->fixed);
	work(run, run->copying, costs->copied * promoted);
	pause_end(run, MINOR, promoted);
	if (number % FULL)
		return;
	pause_begin(run, WHOLE);
	work(run, run->marking, costs->kept * promoted * number);
	pause_end(run, WHOLE, 0);
}

static struct model *recorded(uint64_t seed, const struct costs *costs)
{
	struct model *model;
	struct run run;

	begin(&run, seed);
	for (int i = 1; i <= CYCLES; i++)
		one_cycle(&run, costs, i);
	model = synthetic_loaded(&run.synthetic, run.time + 1);
	synthetic_free(&run.synthetic);
	return model;
}

/* The truth of a site, ns. */
struct truth {
	double charged, allocating, keeping;
};

static struct truth truth_of(size_t i, const struct costs *costs)
{
	double all = 0, promoted = sites[i].bytes * sites[i].kept / promoted_bytes(), fixed,
	       kept = 0;
	double copied = costs->copied * promoted_bytes() * CYCLES;

	for (size_t site = 0; site < SITES; site++)
		all += sites[site].bytes;
	fixed = costs->fixed * CYCLES * sites[i].bytes / all;
	for (int number = FULL; number <= CYCLES; number += FULL)
		kept += costs->kept * promoted_bytes() * number;
	/* Each cycle keeps the same: the shares of what is promoted and of what is old are equal.
	 */
	return (struct truth){
		.charged = fixed + (copied + kept) * promoted,
		.keeping = copied * promoted + kept * (1 - (1 - promoted) * (1 - promoted)),
		.allocating =
			fixed + copied * promoted + kept * (1 - (1 - promoted) * (1 - promoted)),
	};
}

struct held {
	int made, charged, allocating, keeping;
	double width;
};

static bool holds(const struct estimate *of, double truth)
{
	CHECK(of->low <= of->value + 1 && of->value <= of->high + 1);
	return of->low <= truth + 1 && truth <= of->high + 1;
}

static void add_run(struct held *held, const struct model *model, const struct costs *costs)
{
	for (size_t n = 0; n < model->n_sites; n++) {
		const struct model_site *row = &model->sites[n];
		const char *name = row->functions[0];
		struct truth truth;

		if (name[0] != 'f')
			continue;
		truth = truth_of((size_t)(name[1] - '0'), costs);
		held->made++;
		held->charged += holds(&row->gc_ns, truth.charged);
		held->allocating += holds(&row->gc_allocating_ns, truth.allocating);
		held->keeping += holds(&row->gc_keeping_ns, truth.keeping);
		held->width += truth.allocating > 0
				       ? (row->gc_allocating_ns.high - row->gc_allocating_ns.low) /
						 truth.allocating
				       : 0;
	}
}

static void check_coverage(const char *what, const struct costs *costs)
{
	struct held held = {0};

	for (uint64_t seed = SEED; seed < SEED + RUNS; seed++) {
		struct model *model = recorded(seed, costs);

		add_run(&held, model, costs);
		model_free(model);
	}
	printf("%s: of %d charged %.3f, allocating %.3f, keeping %.3f; width %.2f\n", what,
	       held.made, (double)held.charged / held.made, (double)held.allocating / held.made,
	       (double)held.keeping / held.made, held.width / held.made);
	CHECK(held.made > RUNS * (SITES - 1));
	CHECK(held.charged >= 0.9 * held.made);
	CHECK(held.allocating >= 0.9 * held.made);
	CHECK(held.keeping >= 0.9 * held.made);
	/* Not by being so wide that they say nothing. */
	CHECK(held.width < 1.5 * held.made);
}

TEST(intervals_hold_what_a_site_costs_in_nine_of_ten_recordings)
{
	const double promoted = promoted_bytes();

	check_coverage("copying", &(struct costs){4e6, 16e6 / promoted, 0.1e6 / promoted});
	check_coverage("fixed", &(struct costs){16e6, 4e6 / promoted, 0.1e6 / promoted});
	check_coverage("full", &(struct costs){4e6, 4e6 / promoted, 4e6 / promoted});
}

/* What is saved if a site's part of what is alive were not kept, or nothing of it allocated. */
static struct caused_figures saved(const struct model_gc_pace *pace, double allocated, double kept)
{
	struct caused caused = {0};
	struct model_gc_paces paces = {.kept_known = true};
	const struct tally bytes = {.value = 1e9, .variance = 1};

	paces.of[GC_PACING_LIVE] = *pace;
	caused.parts[GC_PACING_LIVE][CHARGE_FIXED] = allocated * pace->parts[CHARGE_FIXED];
	caused.parts[GC_PACING_LIVE][CHARGE_KEPT] = kept * pace->parts[CHARGE_KEPT];
	return caused_figures(&caused, &paces, &bytes, 1e9);
}

/* 100 cycles with 64 MiB alive: 1 s that does not depend on it, of which 60 ms are the cycles' own,
 * and 4 s of marking. */
TEST(go_saves_by_how_its_cycles_are_paced)
{
	struct model_gc_pace pace = {.parts = {1e9, 0, 4e9},
				     .bytes = {1e9, 1e9, 1e9},
				     .cycles = 100,
				     .live = 64 << 20,
				     .paced = 1,
				     .growth = 1,
				     .referring = 1,
				     .empty_ns = EMPTY_CYCLE_NS};
	struct estimate keeping = saved(&pace, 0, 1).keeping;

	/* 64 MiB apart, then 4. */
	CHECK(is_near(keeping.value, 4e9 - 15 * 60e6, 1e3));
	CHECK(keeping.low < 4e9 - 15 * 190e6 && keeping.high > 4e9 - 15 * 45e6);
	/* Half as far with half of it alive: all is as before, but that there is less to sweep. */
	CHECK(is_near(saved(&pace, 0, 0.5).keeping.value, 0, 1e3));
	CHECK(is_near(saved(&pace, 0.5, 0).allocating.value, 2.5e9, 1e3));
	/* GOGC=400: 256 MiB apart, then 16. */
	pace.growth = 4;
	CHECK(is_near(saved(&pace, 0, 1).keeping.value, 4e9 - 15 * 60e6, 1e3));
	/* A limit of 96 MiB, with any GOGC: 32 MiB apart, then 16, or the limit's 96. */
	pace.peak = 96 << 20;
	CHECK(is_near(saved(&pace, 0, 1).keeping.value, 4e9 - 60e6, 1e3));
	pace.growth = 0;
	CHECK(is_near(saved(&pace, 0, 1).keeping.value, 4e9 + 40e6, 1e3));
	CHECK(is_near(saved(&pace, 0, 0.5).keeping.value, 4e9 - 1e9 + 30e6, 1e3));
	/* Only on request. */
	pace.peak = pace.paced = 0;
	CHECK(is_near(saved(&pace, 0, 0.5).keeping.value, 2e9, 1e3));
	CHECK(is_near(saved(&pace, 1, 0).allocating.value, 1e9 - 60e6, 1e3));
}

/* CPython: objects count, and a full collection also frees what it finds to be garbage. */
TEST(full_collections_are_charged_to_what_they_look_at)
{
	struct model *model;
	struct run run;

	begin(&run, SEED);
	PUT(&run.synthetic, runtime, .process = 1,
	    .name = synthetic_string(&run.synthetic, "counts"),
	    .collector = synthetic_string(&run.synthetic, "collect"), .pacing = GC_PACING_GROWTH);
	for (uint64_t i = 0; i < 3; i++)
		PUT(&run.synthetic, alloc, .time = ++run.time, .thread = 1, .stack = run.of[i],
		    .sample = 101 + i, .size = 1 << 20, .period = 1000, .kind = 5);
	/* Freed before any collection: costs nothing. */
	PUT(&run.synthetic, fate, .time = ++run.time, .process = 1, .sample = 103,
	    .outcome = FREED);
	pause_begin(&run, MINOR);
	run.time += 1000;
	pause_end(&run, MINOR, 0);
	pause_begin(&run, WHOLE);
	PUT(&run.synthetic, fate, .time = ++run.time, .process = 1, .sample = 102,
	    .outcome = FREED);
	run.time += 3000;
	pause_end(&run, WHOLE, 0);
	model = synthetic_loaded(&run.synthetic, run.time + 1);
	synthetic_free(&run.synthetic);
	CHECK(is_near(find_function(model, "f0")->gc_self_ns, 500 + 3000 / (1 + TRACKED_GARBAGE),
		      3));
	CHECK(is_near(find_function(model, "f1")->gc_self_ns,
		      500 + 3000 * TRACKED_GARBAGE / (1 + TRACKED_GARBAGE), 3));
	CHECK(find_function(model, "f2")->gc_self_ns == 0);
	model_free(model);
}
