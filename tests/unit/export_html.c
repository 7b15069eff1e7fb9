/* SPDX-License-Identifier: BSD-2-Clause */
/* export_html.c: tests of what stands in the page; browsers are asked in e2e/html.bats. */
#include "export_rig.h"
#include "model/rows/call_tree.h"
#include "synthetic_waits.h"

/* The data in a page, which its script takes from the same place. */
static json_t *data_of(const struct exported *page)
{
	static const char before[] = "<script type=\"application/json\" id=\"data\">";
	char *found = strstr(page->data, before), *end;
	struct exported data = {.data = found ? found + strlen(before) : NULL};

	CHECK(data.data);
	end = strstr(data.data, "</script>");
	CHECK(end);
	for (const char *at = data.data; at < end; at++)
		CHECK(*at == '\n' || (*at >= ' ' && *at <= '~' && *at != '<'));
	data.size = (size_t)(end - data.data);
	return parse_json(&data);
}

static json_t *page_of(const struct synthetic *synthetic)
{
	struct exported page = export_as(synthetic, "html", NULL);
	json_t *data = data_of(&page);

	free(page.data);
	return data;
}

static double self_sum(json_t *data, enum call_measure measure)
{
	return json_sum(json_array_get(json_object_get(data, "self"), measure));
}

/* What the moments of a measure add up to; checks that their places are there. */
static double moment_sum(json_t *data, enum call_measure measure)
{
	json_int_t nodes = (json_int_t)json_array_size(json_object_get(data, "parent"));
	json_t *part, *item;
	double sum = 0;
	size_t i, j;

	json_array_foreach(json_object_get(data, "moments"), i, part)
	{
		json_t *begins = json_object_get(part, "begins"),
		       *node = json_object_get(part, "node");
		json_int_t last = 0;

		json_array_foreach(begins, j, item)
		{
			CHECK(json_integer_value(item) >= last);
			last = json_integer_value(item);
		}
		CHECK_EQ(last, json_array_size(node));
		CHECK_EQ(last, json_array_size(json_object_get(part, "value")));
		json_array_foreach(node, j, item) CHECK(json_integer_value(item) < nodes);
		if (json_integer_value(json_object_get(part, "measure")) == measure)
			sum += json_sum(json_object_get(part, "value"));
	}
	return sum;
}

/* Every node but the root comes after its parent, and right after what that has before it. */
static void check_order(json_t *data)
{
	json_t *parents = json_object_get(data, "parent"), *item;
	size_t i;

	json_array_foreach(parents, i, item)
	{
		size_t parent = (size_t)json_integer_value(item), at = i ? i - 1 : 0;

		CHECK(i ? parent < i : parent == 0);
		for (; at != parent && at;)
			at = (size_t)json_integer_value(json_array_get(parents, at));
		CHECK_EQ(at, parent);
	}
}

TEST(sums_are_the_reports)
{
	struct app app;
	struct model *model;
	double survived = 0;
	json_t *data;

	synthetic_app(&app, 100, false);
	model = synthetic_loaded(&app.synthetic, app.time + 1000);
	data = page_of(&app.synthetic);
	check_order(data);
	for (size_t i = 0; i < model->n_functions; i++)
		survived += model->functions[i].survived_bytes;
	CHECK(survived > 0);
	CHECK(is_near(self_sum(data, CALLS_CPU), (double)model->cpu.on_cpu_ns, 2));
	CHECK(is_near(self_sum(data, CALLS_ALLOC), model->alloc.bytes.value, 2));
	CHECK(is_near(self_sum(data, CALLS_GC), model->cpu.collector_ns, 100));
	CHECK(is_near(self_sum(data, CALLS_SYSCALLS), (double)model->syscall_stack_ns, 2));
	CHECK(is_near(self_sum(data, CALLS_SURVIVED), survived, 2));
	CHECK(is_near(moment_sum(data, CALLS_CPU), (double)model->cpu.on_cpu_ns, 200));
	CHECK(is_near(moment_sum(data, CALLS_ALLOC), model->alloc.bytes.value, 200));
	CHECK(is_near(moment_sum(data, CALLS_SYSCALLS), (double)model->syscall_stack_ns, 200));
	CHECK_EQ(moment_sum(data, CALLS_GC), 0);
	CHECK_EQ(json_integer_value(json_at(data, "report.cpu.on_cpu_ns")), model->cpu.on_cpu_ns);
	json_decref(data);
	synthetic_close(&app.synthetic, model);
}

TEST(waits_have_stacks_and_moments)
{
	struct synthetic synthetic;
	json_t *data;

	synthetic_waits(&synthetic);
	data = page_of(&synthetic);
	CHECK(is_near(self_sum(data, CALLS_OFF_CPU), WAITS_STACK_NS, 2));
	CHECK(is_near(moment_sum(data, CALLS_OFF_CPU), WAITS_STACK_NS, 2));
	json_decref(data);
	synthetic_free(&synthetic);
}

/* One function takes nearly all; there is no room for all others. */
TEST(small_calls_become_one)
{
	enum { SMALL = 60000 };
	struct synthetic synthetic;
	uint64_t root, big;
	json_t *data, *names;
	double more = 0;

	synthetic_program(&synthetic, 1000);
	root = synthetic_function(&synthetic, "/bin/app", 1, "main");
	big = synthetic_function(&synthetic, "/bin/app", 2, "big");
	PUT(&synthetic, cpu, .time = 2000, .thread = 1, .mode = 1, .ns = UINT64_C(100000000000),
	    .stack = synthetic_stack(&synthetic, (uint64_t[]){root, big, 0}));
	for (uint64_t i = 0; i < SMALL; i++)
		PUT(&synthetic, cpu, .time = 3000 + i, .thread = 1, .mode = 1, .ns = 1000,
		    .stack = synthetic_stack(
			    &synthetic,
			    (uint64_t[]){
				    root,
				    synthetic_function(&synthetic, "/bin/app", 100 + i, "small"),
				    synthetic_function(&synthetic, "/bin/app", 900000 + i, NULL),
				    0}));
	synthetic_end(&synthetic, 90000);
	data = page_of(&synthetic);
	check_order(data);
	names = json_object_get(data, "name");
	CHECK(json_array_size(names) < 10);
	for (size_t i = 0; i < json_array_size(names); i++)
		if (json_integer_value(json_array_get(names, i)) < 0)
			more += json_number_value(json_array_get(
				json_array_get(json_object_get(data, "self"), 0), i));
	CHECK(is_near(more, 1e3 * SMALL, 10));
	CHECK(is_near(self_sum(data, CALLS_CPU), 1e11 + 1e3 * SMALL, 10));
	CHECK(is_near(moment_sum(data, CALLS_CPU), 1e11 + 1e3 * SMALL, 10));
	json_decref(data);
	synthetic_free(&synthetic);
}

/* Times far apart: windows grow, and there are never more than the timeline may have. */
TEST(times_out_of_reason_do_no_harm)
{
	static const uint64_t times[] = {1001, UINT64_C(1) << 40, UINT64_C(1) << 62, UINT64_MAX};
	struct synthetic synthetic;
	uint64_t stack;
	json_t *data;

	synthetic_program(&synthetic, 1000);
	stack = synthetic_stack(
		&synthetic, (uint64_t[]){synthetic_function(&synthetic, "/bin/app", 1, "main"), 0});
	for (size_t i = 0; i < sizeof(times) / sizeof(*times); i++) {
		PUT(&synthetic, cpu, .time = times[i], .thread = 1, .mode = 1, .stack = stack);
		PUT(&synthetic, wait, .time = times[i], .thread = 1, .held_ns = 5, .held = 1,
		    .stack = stack);
		PUT(&synthetic, wait, .time = times[i], .duration = UINT64_C(1) << 60, .thread = 1,
		    .stack = stack);
		PUT(&synthetic, syscall, .time = times[i], .duration = UINT64_C(1) << 60,
		    .thread = 1, .stack = stack);
	}
	synthetic_end(&synthetic, UINT64_MAX);
	data = page_of(&synthetic);
	CHECK(json_array_size(json_at(data, "moments.0.begins")) <= 1025);
	CHECK(moment_sum(data, CALLS_CPU) > 0);
	json_decref(data);
	synthetic_free(&synthetic);
}

TEST(hostile_names_stay_names)
{
	struct synthetic synthetic;
	bool found = false;
	json_t *data, *name;
	size_t i;

	hostile_profile(&synthetic);
	data = page_of(&synthetic);
	check_order(data);
	json_array_foreach(json_object_get(data, "names"), i, name)
		found |= strstr(json_string_value(name), "</script> ${x} \\u{202e} turned") != NULL;
	CHECK(found);
	json_decref(data);
	synthetic_free(&synthetic);
}

TEST(nothing_recorded_is_a_page)
{
	struct synthetic synthetic;
	json_t *data;

	synthetic_program(&synthetic, 1000);
	synthetic_end(&synthetic, 2000);
	data = page_of(&synthetic);
	CHECK_EQ(json_array_size(json_object_get(data, "parent")), 2);
	CHECK_EQ(json_array_size(json_object_get(data, "moments")), 0);
	json_decref(data);
	synthetic_free(&synthetic);
}

/* --- survivors ---------------------------------------------------------------------------- */

enum { BIG = 1 << 20 }; /* so large that each sample stands for itself */

static void put_object(struct synthetic *synthetic, uint64_t time, uint64_t stack, uint64_t sample,
		       uint64_t type)
{
	PUT(synthetic, alloc, .time = time, .thread = 1, .stack = stack, .sample = sample,
	    .type = type, .size = BIG, .period = 1000, .kind = 1);
}

static void put_outcome(struct synthetic *synthetic, uint64_t time, uint64_t sample,
			uint64_t outcome, uint64_t collections)
{
	PUT(synthetic, fate, .time = time, .process = 1, .sample = sample, .outcome = outcome,
	    .age = 5000, .collections = collections);
}

static void put_minor(struct synthetic *synthetic, uint64_t time, uint64_t cycle)
{
	PUT(synthetic, gc_begin, .time = time, .thread = 1, .heap = 1, .cycle = cycle, .kind = 1);
	PUT(synthetic, gc_end, .time = time + 10, .thread = 1, .heap = 1, .cycle = cycle,
	    .kind = 1);
}

/* Megabytes in each class: by stacks, and by the rows of a type. */
static void check_classes(json_t *data, const char *type, const int wanted[8])
{
	json_t *part, *rows = json_object_get(data, "rows"), *item;
	double stacks[8] = {0}, types[8] = {0};
	size_t i, j;

	json_array_foreach(json_object_get(data, "moments"), i, part)
	{
		json_int_t class =
			json_integer_value(json_object_get(part, "measure")) - CALLS_MEASURES;

		if (class >= 0)
			stacks[class] += json_sum(json_object_get(part, "value"));
	}
	json_array_foreach(json_object_get(data, "row_moments"), i, part)
	{
		const char *name = json_string_value(json_object_get(part, "measure"));

		if (strncmp(name, "survived_", 9) != 0)
			continue;
		json_array_foreach(json_object_get(part, "node"), j, item)
		{
			json_t *row = json_array_get(rows, (size_t)json_integer_value(item));

			CHECK_STR(json_string_value(json_object_get(row, "table")), "types");
			CHECK_STR(json_string_value(json_object_get(row, "name")), type);
			types[name[9] - '0'] += json_number_value(
				json_array_get(json_object_get(part, "value"), j));
		}
	}
	for (i = 0; i < 8; i++) {
		CHECK(is_near(stacks[i] / BIG, wanted[i], 0.001));
		CHECK(is_near(types[i] / BIG, wanted[i], 0.001));
	}
}

TEST(survivors_are_classed_by_the_collections_that_they_survived)
{
	static const char histograms[][2] = {{1, 8}, {1, 9}};
	struct synthetic synthetic;
	uint64_t stack;
	json_t *data;

	synthetic_program(&synthetic, 1000);
	PUT(&synthetic, type, .process = 1, .type = 1, .name = synthetic_string(&synthetic, "t"));
	stack = synthetic_stack(&synthetic,
				(uint64_t[]){synthetic_function(&synthetic, "app", 1, "main"), 0});
	for (uint64_t i = 1; i <= 5; i++)
		put_object(&synthetic, 1000 + i, stack, i, 1);
	/* 1 dies young, 2 dies after five, 3 and 4 live on, 5 has no outcome. */
	PUT(&synthetic, gc_begin, .time = 2000, .thread = 1, .heap = 1, .cycle = 1, .kind = 1);
	put_outcome(&synthetic, 2001, 1, 1, 0);
	put_outcome(&synthetic, 2002, 2, 2, 1);
	put_outcome(&synthetic, 2003, 3, 2, 1);
	PUT(&synthetic, gc_end, .time = 2010, .thread = 1, .heap = 1, .cycle = 1, .kind = 1);
	put_minor(&synthetic, 3000, 2);
	put_outcome(&synthetic, 3020, 2, 4, 5);
	put_minor(&synthetic, 4000, 3);
	/* Whether the next summary has only later collections than an outcome is not known. */
	put_outcome(&synthetic, 4500, 4, 2, 1);
	for (int i = 0; i < 2; i++)
		PUT(&synthetic, gc_summary, .time = 5000, .thread = 1, .heap = 1, .span = 100,
		    .kind = 1, .count = 8 + (uint64_t)i, .total_ns = 10, .max_ns = 2,
		    .histogram = {histograms[i], 2});
	synthetic_end(&synthetic, 9000);
	data = page_of(&synthetic);
	/* 2: five. 3: its first, two with records and nine; 4: its first and nine. */
	check_classes(data, "t", (const int[8]){0, 0, 0, 1, 2, 0, 0, 0});
	json_decref(data);
	synthetic_free(&synthetic);
}

TEST(minor_collections_of_several_heaps_are_not_added_up)
{
	struct synthetic synthetic;
	json_t *data;

	synthetic_program(&synthetic, 1000);
	put_object(&synthetic, 1001, 0, 1, 0);
	put_outcome(&synthetic, 1002, 1, 2, 2);
	put_minor(&synthetic, 3000, 1);
	PUT(&synthetic, gc_begin, .time = 4000, .thread = 1, .heap = 2, .cycle = 1, .kind = 1);
	synthetic_end(&synthetic, 9000);
	data = page_of(&synthetic);
	check_classes(data, "unknown type", (const int[8]){0, 1, 0, 0, 0, 0, 0, 0});
	json_decref(data);
	synthetic_free(&synthetic);
}

/* The sum of a column of rows, or the largest value. */
static double column_of(json_t *data, const char *column, bool largest)
{
	json_t *part, *value;
	double sum = 0, most = 0;
	size_t i, j;

	json_array_foreach(json_object_get(data, "row_moments"), i, part)
	{
		if (strcmp(json_string_value(json_object_get(part, "measure")), column) != 0)
			continue;
		json_array_foreach(json_object_get(part, "value"), j, value)
		{
			double number = json_number_value(value);

			sum += number;
			most = number > most ? number : most;
		}
	}
	return largest ? most : sum;
}

TEST(the_longest_events_and_all_rows_are_there)
{
	struct synthetic synthetic;
	json_t *data, *row;
	size_t i;

	synthetic_program(&synthetic, 1000);
	/* Calls of 1 to 5,000 us, in another order. */
	for (i = 1; i <= 5000; i++)
		PUT(&synthetic, syscall, .time = 1000 + i * 10000000, .thread = 1, .number = 1,
		    .duration = (i * 2 % 5001) * 1000, .stands = 1);
	synthetic_end(&synthetic, 60000000000);
	data = page_of(&synthetic);
	synthetic_free(&synthetic);
	CHECK_EQ(json_integer_value(json_object_get(data, "calls_count")), 5000);
	CHECK_EQ(json_array_size(json_object_get(data, "slow_calls")), 500);
	json_array_foreach(json_object_get(data, "slow_calls"), i, row)
	{
		CHECK_EQ(json_integer_value(json_object_get(row, "duration_ns")),
			 (5000 - (json_int_t)i) * 1000);
	}
	CHECK_EQ(column_of(data, "count", false), 5000);
	CHECK(is_near(column_of(data, "total_ns", false), 5000.0 * 5001 / 2 * 1000, 5000));
	CHECK_EQ(column_of(data, "max_ns", true), 5000000);
	json_decref(data);
}
