/* SPDX-License-Identifier: BSD-2-Clause */
/* model_filter.c: tests of filters: their grammar, and what they select. */
#include <errno.h>

#include "model/select/filter.h"
#include "synthetic.h"

static bool parses(const char *text)
{
	struct filter filter = {.count = 0};
	char fault[200] = "";
	int error = filter_add(&filter, text, fault, sizeof(fault));

	CHECK((error == 0) == (filter.count == 1));
	CHECK((error == 0) == (*fault == 0));
	return !error;
}

TEST(terms_are_parsed_or_refused_with_a_reason)
{
	static const char *const good[] = {
		"function=main",      "function!=gc_*",      "module=libc.so.6",
		"type=a|b*",          "thread=4711",         "phase=minor",
		"phase!=minor|major", "during=syscall",      "during=syscall:read",
		"time=1s..2s",        "time=..300ms",        "time=1.5s..",
		"function=a=b",       "function=operator!=", "time=..",
		"during=wait",        "reason=call|fault",   "reason!=stopped",
		"fiber=17|18"};
	static const char *const bad[] = {"",
					  "function",
					  "function=",
					  "what=x",
					  "phase=noon",
					  "phase=",
					  "phase=minor|",
					  "during=read",
					  "during=syscall:",
					  "time=3",
					  "time=2s..1s",
					  "time=1s..1s",
					  "time=a..b",
					  "function~x",
					  "=x",
					  "!=x",
					  "functions=x",
					  "phase=minor|noon",
					  "during=wait:read",
					  "during=syscalls",
					  "reason=sleep"};

	for (size_t i = 0; i < sizeof(good) / sizeof(*good); i++)
		if (!parses(good[i]))
			test_fail(__FILE__, __LINE__, "%s is refused", good[i]);
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		if (parses(bad[i]))
			test_fail(__FILE__, __LINE__, "%s is accepted", bad[i]);
}

TEST(terms_are_limited)
{
	struct filter filter = {.count = 0};
	char fault[200];

	for (int i = 0; i < FILTER_TERMS_MAX; i++)
		CHECK_EQ(filter_add(&filter, "type=x", fault, sizeof(fault)), 0);
	CHECK_EQ(filter_add(&filter, "type=x", fault, sizeof(fault)), -E2BIG);
}

TEST(patterns_match_whole_names)
{
	CHECK(filter_matches("main", "main"));
	CHECK(!filter_matches("main", "main2"));
	CHECK(!filter_matches("main", "xmain"));
	CHECK(filter_matches("*", ""));
	CHECK(filter_matches("*", "anything"));
	CHECK(filter_matches("a*c", "abbbc"));
	CHECK(!filter_matches("a*c", "abbb"));
	CHECK(filter_matches("*a*b*", "xxaxxbxx"));
	CHECK(filter_matches("x|main|y", "main"));
	CHECK(filter_matches("x|m*", "main"));
	CHECK(!filter_matches("x|y", "main"));
	CHECK(filter_matches("[kernel]", "[kernel]"));
	CHECK(filter_matches("a|", ""));
}

/*
 * Two threads, two functions, two types. Thread 1 (called "one") runs f, allocates
 * type A of 100 bytes there and is in a minor collection from 4000 to 6000; thread 2
 * runs g and makes calls. At 3000 and 5000 both have timer samples. Marking begins at 7000.
 */
static void write_profile(struct synthetic *synthetic)
{
	uint64_t f, g, in_read;

	synthetic_program(synthetic, 1000);
	PUT(synthetic, thread, .id = 2, .process = 1, .tid = 101);
	f = synthetic_stack(synthetic,
			    (uint64_t[]){synthetic_function(synthetic, "/bin/app", 1, "f"), 0});
	g = synthetic_stack(synthetic,
			    (uint64_t[]){synthetic_function(synthetic, "/lib/libg.so", 1, "g"), 0});
	in_read = profile_writer_stack(synthetic->writer, g,
				       profile_writer_kernel(synthetic->writer, 77));
	PUT(synthetic, symbol, .frame = profile_writer_kernel(synthetic->writer, 77),
	    .name = synthetic_string(synthetic, "__x64_sys_read"));
	PUT(synthetic, type, .process = 1, .type = 1, .name = synthetic_string(synthetic, "A"));
	PUT(synthetic, alloc, .time = 2000, .thread = 1, .stack = f, .sample = 1, .type = 1,
	    .size = 100, .period = 1, .kind = 1);
	PUT(synthetic, alloc, .time = 2100, .thread = 2, .stack = g, .sample = 2, .type = 2,
	    .size = 300, .period = 1, .kind = 1);
	PUT(synthetic, cpu, .time = 3000, .thread = 1, .stack = f, .mode = 1);
	PUT(synthetic, cpu, .time = 3000, .thread = 2, .stack = in_read, .mode = 2);
	PUT(synthetic, gc_begin, .time = 4000, .thread = 1, .heap = 1, .cycle = 1, .kind = 1,
	    .reason = 1);
	PUT(synthetic, cpu, .time = 5000, .thread = 1, .stack = f, .mode = 1);
	PUT(synthetic, cpu, .time = 5000, .thread = 2, .stack = g, .mode = 1);
	PUT(synthetic, fate, .time = 6000, .process = 1, .sample = 1, .outcome = 2);
	PUT(synthetic, fate, .time = 6000, .process = 1, .sample = 2, .outcome = 1);
	PUT(synthetic, gc_end, .time = 6000, .thread = 1, .heap = 1, .cycle = 1, .kind = 1);
	PUT(synthetic, syscall, .time = 6500, .thread = 2, .number = 0, .duration = 3000,
	    .gc_ns = 2000, .stands = 1000);
	PUT(synthetic, syscall, .time = 6600, .thread = 2, .number = 1, .duration = 50,
	    .stands = 1);
	PUT(synthetic, syscall_total, .time = 6700, .process = 1, .number = 0, .count = 1000);
	PUT(synthetic, phase, .time = 7000, .thread = 1, .heap = 1, .phase = 2);
	PUT(synthetic, cpu, .time = 7100, .thread = 1, .stack = f, .mode = 1);
	/* Names come last. */
	PUT(synthetic, type, .process = 1, .type = 2, .name = synthetic_string(synthetic, "B"));
	PUT(synthetic, comm, .time = 8000, .thread = 1, .name = synthetic_string(synthetic, "one"));
	PUT(synthetic, title, .time = 8000, .thread = 1,
	    .text = synthetic_string(synthetic, "one: idle"));
	synthetic_end(synthetic, 9000);
}

struct counts {
	uint64_t cpu, samples, calls, pauses;
	double bytes, gc_ns, live;
};

/* Loads the selected part of the profile; terms are separated by spaces. */
static struct model *select_terms(const struct synthetic *synthetic, const char *terms)
{
	const struct model_view view = {.frames = MODEL_FRAMES_ALL};
	struct filter filter = {.count = 0};
	struct source *sources[2];
	struct model *model = NULL;
	char *copy = strdup(terms), *rest = copy, fault[200];

	for (char *term; (term = strsep(&rest, " "));)
		CHECK_EQ(filter_add(&filter, term, fault, sizeof(fault)), 0);
	for (int i = 0; i < 2; i++)
		CHECK_EQ(source_memory_open(synthetic->data, synthetic->size, &sources[i]), 0);
	CHECK_EQ(model_load_filtered(sources, "x", &filter, &view, &model), 0);
	free(copy);
	return model;
}

static struct counts count(const struct synthetic *synthetic, const char *terms)
{
	struct model *model = select_terms(synthetic, terms);
	struct counts counts;

	counts = (struct counts){.cpu = model->cpu.samples,
				 .samples = model->alloc.samples,
				 .calls = model->syscall_count,
				 .pauses = model->gc.minor.count,
				 .bytes = model->alloc.bytes.value,
				 .live = model->alloc.live_bytes};
	for (size_t i = 0; i < model->n_functions; i++)
		counts.gc_ns += model->functions[i].gc_self_ns;
	CHECK_EQ(model->run.duration, 8000);
	CHECK(model->filter != NULL);
	model_free(model);
	return counts;
}

static void expect(const struct synthetic *synthetic, const char *terms, struct counts wanted)
{
	struct counts found = count(synthetic, terms);

	printf("%s: cpu %" PRIu64 " samples %" PRIu64 " calls %" PRIu64 " pauses %" PRIu64
	       " bytes %g gc %g live %g\n",
	       terms, found.cpu, found.samples, found.calls, found.pauses, found.bytes, found.gc_ns,
	       found.live);
	CHECK_EQ(found.cpu, wanted.cpu);
	CHECK_EQ(found.samples, wanted.samples);
	CHECK_EQ(found.calls, wanted.calls);
	CHECK_EQ(found.pauses, wanted.pauses);
	CHECK(is_near(found.bytes, wanted.bytes, 1e-6));
	CHECK(is_near(found.gc_ns, wanted.gc_ns, 1));
	CHECK(is_near(found.live, wanted.live, 1e-6));
}

TEST(terms_select_matching_events)
{
	struct synthetic synthetic;

	write_profile(&synthetic);
	/* One timer sample, of 1 ms, is in the only pause. Half of it is fixed, and split 100 to
	 * 300; half is copying, of f's. */
	expect(&synthetic, "time=..", (struct counts){5, 2, 1001, 1, 400, 1e6, 100});
	expect(&synthetic, "function=f", (struct counts){3, 1, 0, 0, 100, 625e3, 100});
	expect(&synthetic, "function!=f", (struct counts){2, 1, 1001, 1, 300, 375e3, 0});
	expect(&synthetic, "module=libg.so", (struct counts){2, 1, 0, 0, 300, 375e3, 0});
	expect(&synthetic, "module=/lib/*", (struct counts){2, 1, 0, 0, 300, 375e3, 0});
	expect(&synthetic, "type=B", (struct counts){0, 1, 0, 0, 300, 375e3, 0});
	expect(&synthetic, "thread=one", (struct counts){3, 1, 0, 1, 100, 625e3, 100});
	expect(&synthetic, "thread=101", (struct counts){2, 1, 1001, 0, 300, 375e3, 0});
	expect(&synthetic, "process=100", (struct counts){5, 2, 1001, 1, 400, 1e6, 100});
	expect(&synthetic, "process=one thread=101", (struct counts){2, 1, 1001, 0, 300, 375e3, 0});
	expect(&synthetic, "process=one:* thread=101",
	       (struct counts){2, 1, 1001, 0, 300, 375e3, 0});
	expect(&synthetic, "process!=one", (struct counts){0});
	expect(&synthetic, "phase=minor", (struct counts){1, 0, 1000, 1, 0, 0, 0});
	expect(&synthetic, "phase=gc", (struct counts){1, 0, 1000, 1, 0, 0, 0});
	expect(&synthetic, "phase=mutator", (struct counts){4, 2, 1, 0, 400, 1e6, 100});
	expect(&synthetic, "phase=marking", (struct counts){1, 0, 0, 0, 0, 0, 0});
	expect(&synthetic, "during=syscall:read", (struct counts){1, 0, 1000, 0, 0, 0, 0});
	expect(&synthetic, "during=syscall:r*|w*", (struct counts){1, 0, 1001, 0, 0, 0, 0});
	expect(&synthetic, "during=syscall:write", (struct counts){0, 0, 1, 0, 0, 0, 0});
	/* Times start at 1000, so this is 2000 to 4000. */
	expect(&synthetic, "time=1us..3us", (struct counts){2, 2, 0, 0, 400, 1e6, 100});
	expect(&synthetic, "time=1us..3us thread=one",
	       (struct counts){1, 1, 0, 0, 100, 625e3, 100});
	expect(&synthetic, "function=nothing", (struct counts){0});
	synthetic_free(&synthetic);
}

/* A stop of 100 ns that contains a timer sample, and a cycle around it. */
TEST(filters_select_stops_and_cycles)
{
	static const struct {
		const char *term;
		uint64_t stops, cycles, cpu;
	} rows[] = {
		{"phase=gc", 1, 1, 1},          {"phase=mutator", 0, 0, 1},
		{"phase=minor|major", 0, 0, 0}, {"process=100", 1, 1, 2},
		{"process=101", 0, 0, 0},       {"thread=100", 1, 0, 2},
		{"time=1us..2us", 1, 0, 1},     {"time=2us..", 0, 1, 1},
	};
	struct synthetic synthetic;

	synthetic_program(&synthetic, 1000);
	PUT(&synthetic, gc_begin, .time = 2000, .thread = 1, .heap = 1, .kind = 5);
	PUT(&synthetic, cpu, .time = 2050, .thread = 1, .mode = 1);
	PUT(&synthetic, gc_end, .time = 2100, .thread = 1, .heap = 1, .kind = 5);
	PUT(&synthetic, cpu, .time = 3050, .thread = 1, .mode = 1);
	PUT(&synthetic, gc_cycle, .time = 4000, .process = 1, .heap = 1, .span = 2500);
	PUT(&synthetic, heap_area, .time = 4000, .process = 1, .heap = 1, .name = 16, .flags = 6);
	synthetic_end(&synthetic, 9000);
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct model *model = select_terms(&synthetic, rows[i].term);

		printf("%s\n", rows[i].term);
		CHECK_EQ(model->gc.others.count, rows[i].stops);
		CHECK_EQ(model->gc.concurrent.count, rows[i].cycles);
		CHECK_EQ(model->n_heap_areas, rows[i].cycles);
		CHECK_EQ(model->cpu.samples, rows[i].cpu);
		model_free(model);
	}
	synthetic_free(&synthetic);
}

/* Two heap profiles of one process; the later one is smaller. */
TEST(heap_profiles_are_selected_by_process_and_stack)
{
	static const struct {
		const char *term;
		double alive, before;
	} rows[] = {
		{"function=f", 100, 150},
		{"function!=f", 300, 0},
		{"module=libg.so", 300, 0},
		{"process=100", 400, 150},
		{"process!=100", 0, 0},
		{"type!=A", 400, 150},
		{"type=A", 0, 0},
		{"thread=100", 0, 0},
		{"fiber=1", 0, 0},
		{"phase=mutator", 0, 0},
		{"time=1us..2us", 0, 0},
		{"during=syscall", 0, 0},
		{"function=f type!=A", 100, 150},
	};
	struct synthetic synthetic;
	uint64_t f, g;

	synthetic_program(&synthetic, 1000);
	f = synthetic_stack(&synthetic,
			    (uint64_t[]){synthetic_function(&synthetic, "/bin/app", 1, "f"), 0});
	g = synthetic_stack(
		&synthetic,
		(uint64_t[]){synthetic_function(&synthetic, "/lib/libg.so", 1, "g"), 0});
	PUT(&synthetic, heap_site, .time = 2000, .process = 1, .stack = f, .objects = 3,
	    .bytes = 150, .rate = 1);
	PUT(&synthetic, heap_site, .time = 3000, .process = 1, .stack = f, .objects = 2,
	    .bytes = 100, .rate = 1);
	PUT(&synthetic, heap_site, .time = 3000, .process = 1, .stack = g, .objects = 1,
	    .bytes = 300, .rate = 1);
	synthetic_end(&synthetic, 9000);
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct model *model = select_terms(&synthetic, rows[i].term);

		printf("%s\n", rows[i].term);
		CHECK(is_near(model->heap.bytes, rows[i].alive, 1e-6));
		CHECK(is_near(model->heap.before, rows[i].before, 1e-6));
		model_free(model);
	}
	synthetic_free(&synthetic);
}

TEST(a_filter_for_everything_changes_nothing)
{
	struct synthetic synthetic;
	struct model *whole;
	struct counts all;

	write_profile(&synthetic);
	whole = synthetic_model(&synthetic);
	all = count(&synthetic, "function=*|x function!=y");
	CHECK_EQ(all.samples, whole->alloc.samples);
	CHECK_EQ(all.cpu, whole->cpu.samples);
	CHECK(is_near(all.bytes, whole->alloc.bytes.value, 1e-6));
	CHECK_EQ(whole->syscall_count, 1001);
	synthetic_close(&synthetic, whole);
}
