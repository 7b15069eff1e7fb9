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
	synthetic_end(&app.synthetic, app.time + 1000);
	model = synthetic_model(&app.synthetic);
	data = page_of(&app.synthetic);
	check_order(data);
	for (size_t i = 0; i < model->n_functions; i++)
		survived += model->functions[i].survived_bytes;
	CHECK(survived > 0);
	CHECK(is_near(self_sum(data, CALLS_CPU), (double)model->cpu.on_cpu_ns, 2));
	CHECK(is_near(self_sum(data, CALLS_ALLOC), model->alloc.bytes.value, 2));
	CHECK(is_near(self_sum(data, CALLS_GC), (double)model->gc.minor.total_ns, 2));
	CHECK(is_near(self_sum(data, CALLS_SYSCALLS), (double)model->syscall_stack_ns, 2));
	CHECK(is_near(self_sum(data, CALLS_SURVIVED), survived, 2));
	CHECK(is_near(moment_sum(data, CALLS_CPU), (double)model->cpu.on_cpu_ns, 200));
	CHECK(is_near(moment_sum(data, CALLS_ALLOC), model->alloc.bytes.value, 200));
	CHECK(is_near(moment_sum(data, CALLS_SYSCALLS), (double)model->syscall_stack_ns, 200));
	CHECK_EQ(moment_sum(data, CALLS_GC), 0);
	CHECK_EQ(json_integer_value(json_at(data, "report.cpu.on_cpu_ns")), model->cpu.on_cpu_ns);
	json_decref(data);
	model_free(model);
	synthetic_free(&app.synthetic);
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

	synthetic_begin(&synthetic);
	synthetic_process(&synthetic, 1000);
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

	synthetic_begin(&synthetic);
	synthetic_process(&synthetic, 1000);
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

	synthetic_begin(&synthetic);
	synthetic_process(&synthetic, 1000);
	synthetic_end(&synthetic, 2000);
	data = page_of(&synthetic);
	CHECK_EQ(json_array_size(json_object_get(data, "parent")), 2);
	CHECK_EQ(json_array_size(json_object_get(data, "moments")), 0);
	json_decref(data);
	synthetic_free(&synthetic);
}
