/* SPDX-License-Identifier: BSD-2-Clause */
/* report_diff.c: tests of what changed between two profiles, and of what may be noise. */
#include <jansson.h>
#include <math.h>

#include "report/diff.h"
#include "synthetic.h"

/* 4 types from one site; `factor` times as many samples of the first; gaps by `random`. */
static void write_profile(struct synthetic *synthetic, uint64_t random, unsigned factor)
{
	static const char *const names[] = {"A", "B", "C", "D"};
	uint64_t stack, time = 1000, sample = 0;

	synthetic_begin(synthetic);
	PUT(synthetic, recording, .start = 1000, .frequency = 1000, .period = 1000);
	for (uint64_t i = 1; i <= 4; i++)
		PUT(synthetic, stream, .stream = i, .name = bytes_of("x"), .attached = 1);
	PUT(synthetic, process, .id = 1, .pid = 100, .time = 1000);
	PUT(synthetic, thread, .id = 1, .process = 1, .tid = 100);
	stack = synthetic_stack(synthetic,
				(uint64_t[]){synthetic_function(synthetic, "/bin/app", 1, "f"), 0});
	for (uint64_t i = 0; i < 4; i++) {
		/* About 200 samples of 50 bytes: a Poisson count. */
		unsigned tries = i ? 4000 : 4000 * factor;

		PUT(synthetic, type, .process = 1, .type = i + 1,
		    .name = synthetic_string(synthetic, names[i]));
		while (tries--) {
			if (test_random(&random) % 20 == 0) {
				sample++;
				PUT(synthetic, alloc, .time = 1000 + sample, .thread = 1,
				    .stack = stack, .sample = sample, .type = i + 1, .size = 50,
				    .period = 1000, .kind = 1);
			}
		}
	}
	time += sample;
	for (int i = 0; i < 400; i++)
		if (test_random(&random) % 2)
			PUT(synthetic, cpu, .time = time + (uint64_t)i, .thread = 1, .stack = stack,
			    .mode = 1);
	time += 500;
	time++;
	PUT(synthetic, gc_begin, .time = time, .thread = 1, .heap = 1, .cycle = 1, .kind = 1);
	time += 500;
	PUT(synthetic, gc_end, .time = time, .thread = 1, .heap = 1, .cycle = 1, .kind = 1);
	synthetic_end(synthetic, time + 1);
}

static struct model *make_model(uint64_t random, unsigned factor)
{
	struct synthetic synthetic;
	struct model *model;

	write_profile(&synthetic, random, factor);
	model = synthetic_model(&synthetic);
	synthetic_free(&synthetic);
	return model;
}

static const struct diff_row *find_row(const struct diff_table *table, const char *name)
{
	for (size_t i = 0; i < table->count; i++)
		if (strcmp(table->rows[i].name, name) == 0)
			return &table->rows[i];
	test_fail(__FILE__, __LINE__, "no row %s", name);
}

TEST(a_change_has_the_interval_of_both_figures)
{
	struct estimate before = {100, 90, 115}, after = {150, 130, 190};
	struct estimate change = diff_change(&before, &after);

	CHECK(is_near(change.value, 50, 1e-9));
	CHECK(is_near(change.low, 50 - 25, 1e-9));          /* 20 and 15 */
	CHECK(is_near(change.high, 50 + 41.2310562, 1e-6)); /* 40 and 10 */
}

/* A quotient beyond r, for sure, is a difference from r times the other figure that is certain. */
TEST(a_ratio_has_the_interval_that_agrees_with_the_difference)
{
	static const struct estimate values[] = {
		{130, 120, 142}, {0, 0, 30}, {5, 5, 5}, {40, 0, 90}, {0, 0, 0}};
	static const struct estimate bys[] = {{100, 92, 109}, {50, 50, 50}, {10, 0, 44}, {0, 0, 8}};

	for (size_t i = 0; i < sizeof(values) / sizeof(*values); i++) {
		for (size_t j = 0; j < sizeof(bys) / sizeof(*bys); j++) {
			const struct estimate *a = &values[i], *b = &bys[j];
			struct estimate ratio = diff_ratio(a, b);

			CHECK(ratio.low <= ratio.value && ratio.value <= ratio.high);
			for (double r = 0.03; r < 4; r += 0.1) {
				struct estimate times = {r * b->value, r * b->low, r * b->high};
				struct estimate change = diff_change(&times, a);

				CHECK_EQ(ratio.low > r, change.low > 0);
				CHECK_EQ(ratio.high < r, change.high < 0);
			}
		}
	}
	CHECK(is_near(diff_ratio(&values[2], &bys[1]).high, 0.1, 1e-12));
	CHECK(isinf(diff_ratio(&values[2], &(struct estimate){0}).low));
	CHECK(is_near(diff_ratio(&values[4], &(struct estimate){0}).high, 1, 1e-12));
}

TEST(verdicts)
{
	struct diff_row row = {.before = {10, 5, 15}, .after = {20, 15, 25}};

	row.change = (struct estimate){10, 3, 17};
	CHECK_EQ(diff_judge(&row, 1), DIFF_MORE);
	CHECK_EQ(diff_judge(&row, 2), DIFF_NOISE);
	row.change = (struct estimate){-10, -17, -3};
	CHECK_EQ(diff_judge(&row, 1), DIFF_LESS);
	row.change = (struct estimate){-1, -8, 6};
	CHECK_EQ(diff_judge(&row, 1), DIFF_NOISE);
	row.before = (struct estimate){10, 10, 10};
	row.after = (struct estimate){11, 11, 11};
	CHECK_EQ(diff_judge(&row, 1), DIFF_EXACT);
}

/* 400 samples, of which each record stands for so many. */
static struct model *make_ticks(unsigned ticks)
{
	struct synthetic synthetic;
	struct model *model;
	uint64_t stack;

	synthetic_begin(&synthetic);
	PUT(&synthetic, recording, .start = 1000, .frequency = 1000);
	for (uint64_t i = 1; i <= 4; i++)
		PUT(&synthetic, stream, .stream = i, .name = bytes_of("x"), .attached = 1);
	PUT(&synthetic, process, .id = 1, .pid = 100, .time = 1000);
	PUT(&synthetic, thread, .id = 1, .process = 1, .tid = 100);
	stack = synthetic_stack(
		&synthetic, (uint64_t[]){synthetic_function(&synthetic, "/bin/app", 1, "f"), 0});
	for (unsigned i = 0; i < 400 / ticks; i++)
		PUT(&synthetic, cpu, .time = 1001 + i, .thread = 1, .stack = stack, .mode = 1,
		    .ticks = ticks);
	model = synthetic_loaded(&synthetic, 2000);
	synthetic_free(&synthetic);
	return model;
}

TEST(samples_that_stand_for_several_tell_less_exactly)
{
	struct model *fine = make_ticks(1), *coarse = make_ticks(8);
	const struct diff_row *row;
	struct diff diff;

	CHECK_EQ(diff_make(fine, coarse, &diff), 0);
	row = find_row(&diff.totals, "CPU time");
	CHECK(is_near(row->before.value, 0.4e9, 1));
	CHECK(is_near(row->after.value, 0.4e9, 1));
	/* 400 samples and 50. */
	CHECK(is_near(row->before.high - 0.4e9, 1.96 * sqrt(400) * 1e6, 3e6));
	CHECK(is_near(row->after.high - 0.4e9, 1.96 * sqrt(50) * 8e6, 17e6));
	diff_free(&diff);
	model_free(fine);
	model_free(coarse);
}

/* Same program, other samples: in 300 comparisons hardly a row may claim a change. */
TEST(equal_programs_differ_by_noise_only)
{
	uint64_t random = test_seed();
	int claims = 0, total_claims = 0;

	for (int round = 0; round < 300; round++) {
		struct model *a = make_model(test_random(&random), 1);
		struct model *b = make_model(test_random(&random), 1);
		struct diff diff;

		CHECK_EQ(diff_make(a, b, &diff), 0);
		CHECK_EQ(diff.types.count, 4);
		for (size_t i = 0; i < diff.types.count; i++)
			claims += diff.types.rows[i].verdict != DIFF_NOISE;
		total_claims += find_row(&diff.totals, "allocated")->verdict != DIFF_NOISE;
		diff_free(&diff);
		model_free(a);
		model_free(b);
	}
	/* 0.1 % of 1200 and 5 % of 300 are expected; chance alone gives more than these never. */
	printf("%d rows, %d totals\n", claims, total_claims);
	CHECK(claims <= 10);
	CHECK(total_claims <= 40);
	CHECK(total_claims >= 1);
}

TEST(a_real_change_is_found_and_stands_first)
{
	uint64_t random = test_seed();
	struct model *a = make_model(test_random(&random), 1);
	struct model *b = make_model(test_random(&random), 3);
	struct diff diff;

	CHECK_EQ(diff_make(a, b, &diff), 0);
	CHECK_STR(diff.types.rows[0].name, "A");
	CHECK_EQ(diff.types.rows[0].verdict, DIFF_MORE);
	CHECK_EQ(find_row(&diff.totals, "allocated")->verdict, DIFF_MORE);
	CHECK_EQ(find_row(&diff.totals, "minor collections")->verdict, DIFF_EXACT);
	diff_free(&diff);
	model_free(a);
	model_free(b);
}

static json_t *as_json(const struct diff *diff)
{
	struct report_options options = {0};
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	json_t *object;

	CHECK_EQ(diff_json(diff, &options, out), 0);
	CHECK_EQ(fclose(out), 0);
	object = json_loadb(text, size, 0, NULL);
	CHECK(object != NULL);
	free(text);
	return object;
}

/* `count` calls of `ns` each. */
static struct model *make_calls(uint64_t count, uint64_t ns)
{
	struct synthetic synthetic;
	struct model *model;

	synthetic_program(&synthetic, 1000);
	for (uint64_t i = 1; i <= 4; i++)
		PUT(&synthetic, stream, .stream = i, .name = bytes_of("x"), .attached = 1);
	for (uint64_t i = 0; i < count; i++)
		PUT(&synthetic, syscall, .time = 2000 + (i + 1) * ns, .thread = 1, .number = 1,
		    .duration = ns);
	model = synthetic_loaded(&synthetic, 3000 + (count + 1) * ns);
	synthetic_free(&synthetic);
	return model;
}

/* The sum has the verdict that its only row has. */
TEST(the_time_in_all_calls_is_judged_as_that_of_each)
{
	static const struct {
		uint64_t counts[2];
		enum diff_verdict verdict;
	} cases[] = {
		{{1000, 100}, DIFF_LESS}, {{100, 1000}, DIFF_MORE}, {{100, 2000}, DIFF_MORE},
		{{100, 110}, DIFF_NOISE}, {{5, 3}, DIFF_NOISE},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct model *before = make_calls(cases[i].counts[0], 5000);
		struct model *after = make_calls(cases[i].counts[1], 5000);
		const struct diff_row *total;
		struct diff diff;

		CHECK_EQ(diff_make(before, after, &diff), 0);
		total = find_row(&diff.totals, "time in system calls");
		CHECK_EQ(total->verdict, cases[i].verdict);
		CHECK_EQ(diff.syscalls.rows[0].verdict, cases[i].verdict);
		CHECK_EQ(find_row(&diff.totals, "system calls")->verdict, DIFF_EXACT);
		diff_free(&diff);
		model_free(before);
		model_free(after);
	}
}

TEST(conditions_are_read)
{
	static const struct {
		const char *text, *key, *name;
		bool below, relative;
		double amount;
	} cases[] = {
		{"cpu>+5%", "cpu", NULL, false, true, 0.05},
		{"wall<-0.5%", "wall", NULL, true, true, -0.005},
		{"pauses > +20ms", "pauses", NULL, false, false, 20e6},
		{"alloc>+1.5MiB", "alloc", NULL, false, false, 1.5 * 1024 * 1024},
		{"calls:write<-10", "calls", "write", true, false, -10},
		{"cpu:operator<<(std::vector<int>)>+5%", "cpu", "operator<<(std::vector<int>)",
		 false, true, 0.05},
		{"cpu:a::b>+1us", "cpu", "a::b", false, false, 1e3},
	};
	static const char *const wrong[] = {
		"",          "cpu",        "cpu>",      "cpu>5%",     "cpu>+",       "cpu>+%",
		"cpu>+.5%",  "cpu>+5%%",   "cpu>+5 %",  "cpu>+1.2.%", "cpu>+0x5%",   "cpu>+nan%",
		"cpu>+5MiB", "alloc>+5ms", "minor>+1s", "gc:f>+5%",   "cpu:>+5%",    "cp>+5%",
		"cpus>+5%",  "cpu>=+5%",   ":f>+5%",    "cpu>>+5%",   "longest>+5%",
	};
	struct condition condition;
	struct condition_fault fault;
	struct term work;

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		CHECK_EQ(condition_parse(cases[i].text, &condition, &fault), 0);
		CHECK_STR(condition.term.figure->key, cases[i].key);
		CHECK_EQ(condition.term.length, cases[i].name ? strlen(cases[i].name) : 0);
		if (cases[i].name)
			CHECK_EQ(strncmp(condition.term.name, cases[i].name,
					 (size_t)condition.term.length),
				 0);
		CHECK_EQ(condition.below, cases[i].below);
		CHECK_EQ(condition.relative, cases[i].relative);
		CHECK(is_near(condition.amount, cases[i].amount, 1e-9));
	}
	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		fault.text[0] = 0;
		if (condition_parse(wrong[i], &condition, &fault) == 0)
			test_fail(__FILE__, __LINE__, "accepted: %s", wrong[i]);
		CHECK(fault.text[0] != 0);
	}
	/* All of the list of figures has room. */
	condition_parse("?", &condition, &fault);
	CHECK(strstr(fault.text, ", major_faults") != NULL);
	CHECK_EQ(condition_parse_work("calls:write", &work, &fault), 0);
	CHECK_EQ(condition_parse_work("objects", &work, &fault), 0);
	CHECK(condition_parse_work("wall", &work, &fault) < 0);
	CHECK(condition_parse_work("alloc:A", &work, &fault) < 0);
}

static struct condition judged(const char *text, const struct diff *diff)
{
	struct condition condition;
	struct condition_fault fault;

	CHECK_EQ(condition_parse(text, &condition, &fault), 0);
	CHECK_EQ(condition_judge(&condition, diff, &fault), 0);
	return condition;
}

/* Calls are counted; the time in them is the sum of events that come at random. */
TEST(a_condition_is_met_only_beyond_the_noise)
{
	static const struct {
		const char *text;
		bool met, noise;
	} cases[] = {
		{"calls>+19%", true, false},      {"calls>+20.5%", false, false},
		{"calls>+99", true, false},       {"calls>+100", false, false},
		{"calls<+21%", true, false},      {"calls<+19.5%", false, false},
		{"call_time>+5%", true, false},   {"call_time>+15%", false, true},
		{"call_time>+25%", false, false}, {"call_time>+19us", false, true},
		{"call_time<+40%", true, false},  {"call_time<+22%", false, true},
		{"call_time<+15%", false, false},
	};
	struct model *before = make_calls(500, 200), *after = make_calls(600, 200);
	struct condition_fault fault;
	struct condition condition;
	struct diff diff;
	struct term work;

	CHECK_EQ(diff_make(before, after, &diff), 0);
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		condition = judged(cases[i].text, &diff);
		if (condition.met != cases[i].met || condition.noise != cases[i].noise)
			test_fail(__FILE__, __LINE__, "%s: %d %d", cases[i].text, condition.met,
				  condition.noise);
	}
	/* Per call they take the same time. */
	diff.per.text = "calls";
	CHECK_EQ(condition_parse_work(diff.per.text, &work, &fault), 0);
	CHECK_EQ(condition_divide(&work, &diff, &fault), 0);
	condition = judged("call_time>+0%", &diff);
	CHECK(is_near(condition.row.before.value, 200, 1e-9));
	CHECK(is_near(condition.change.value, 0, 1e-9));
	CHECK(is_near(find_row(&diff.totals, "system calls")->after.value, 1, 1e-9));
	diff_free(&diff);
	model_free(before);
	model_free(after);
}

TEST(it_is_printed_for_people_and_programs)
{
	struct model *a = make_model(1, 1), *b = make_model(2, 3);
	struct report_options options = {.width = 80};
	struct diff diff;
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	json_t *object, *row;

	CHECK_EQ(diff_make(a, b, &diff), 0);
	CHECK_EQ(diff_text(&diff, &options, out), 0);
	CHECK_EQ(fclose(out), 0);
	CHECK(strstr(text, "Allocated by type") != NULL);
	CHECK(strstr(text, "more  A\n") != NULL);
	CHECK(strstr(text, "The other 3 differ by no more than possible noise.") != NULL);
	object = as_json(&diff);
	row = json_array_get(json_object_get(object, "types"), 0);
	CHECK_STR(json_string_value(json_object_get(row, "name")), "A");
	CHECK(json_is_true(json_object_get(row, "significant")));
	CHECK(json_is_false(json_object_get(json_array_get(json_object_get(object, "types"), 3),
					    "significant")));
	CHECK(json_is_null(json_object_get(json_array_get(json_object_get(object, "totals"), 0),
					   "significant")));
	json_decref(object);
	free(text);
	diff_free(&diff);
	model_free(a);
	model_free(b);
}
