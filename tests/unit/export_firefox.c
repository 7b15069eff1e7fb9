/* SPDX-License-Identifier: BSD-2-Clause */
/* export_firefox.c: tests of the export for the Firefox Profiler. */
#include "export_firefox_rig.h"
#include "synthetic_runtime.h"

TEST(a_whole_program_is_valid_and_adds_up)
{
	struct app app;
	struct exported exported;
	struct model *model;
	json_t *object, *thread;
	double cpu = 0, bytes = 0;
	size_t i, retained = 0;

	synthetic_app(&app, 100, true);
	model = synthetic_loaded(&app.synthetic, app.time + 1000);
	exported = export_as(&app.synthetic, "firefox", NULL);
	check_firefox(&exported);
	object = parse_json(&exported);
	json_array_foreach(json_object_get(object, "threads"), i, thread)
	{
		const char *unit = json_string_value(json_at(thread, "samples.weightType"));
		double sum = json_sum(json_at(thread, "samples.weight"));

		cpu += strcmp(unit, "tracing-ms") == 0 ? sum : 0;
		bytes += strcmp(unit, "bytes") == 0 ? sum : 0;
		retained += json_is_object(json_object_get(thread, "nativeAllocations"));
	}
	CHECK(is_near(cpu, (double)model->cpu.on_cpu_ns / 1e6, 0.01));
	CHECK(is_near(bytes, model->alloc.bytes.value, 600));
	CHECK_EQ(retained, 3);
	CHECK_EQ(json_array_size(json_object_get(object, "counters")), 4);
	CHECK_STR(exported.result.note, "");
	/* In milliseconds. */
	CHECK(is_near(json_number_value(json_at(object, "meta.interval")), 1e3 / 999, 1e-5));
	CHECK(is_near(json_number_value(json_at(object, "meta.startTime")),
		      (double)model->run.realtime / 1e6, 1));
	json_decref(object);
	model_free(model);
	free(exported.data);
	synthetic_free(&app.synthetic);
}

TEST(pauses_and_cycles_bear_the_names_of_the_runtime)
{
	static const char cycle[] = "{\"type\":\"GcprofCycle\",\"kind\":\"mark and sweep\","
				    "\"gcReason\":\"heap has doubled\",\"cycle\":1,";
	static const char pause[] = "\"kind\":\"mark termination\"";
	static const char provider[] = "{\"label\":\"Provider of process 100\","
				       "\"format\":\"string\",\"value\":\"agent 4.5\"}";
	struct synthetic_runtime runtime;
	struct exported exported;

	synthetic_runtime(&runtime, "go");
	synthetic_end(&runtime.synthetic, runtime.time);
	exported = export_as(&runtime.synthetic, "firefox", NULL);
	check_firefox(&exported);
	CHECK(memmem(exported.data, exported.size, cycle, strlen(cycle)) != NULL);
	CHECK(memmem(exported.data, exported.size, pause, strlen(pause)) != NULL);
	CHECK(memmem(exported.data, exported.size, provider, strlen(provider)) != NULL);
	free(exported.data);
	synthetic_free(&runtime.synthetic);
}

TEST(calls_say_which_fiber_made_them)
{
	struct synthetic synthetic;
	struct exported exported;

	synthetic_program(&synthetic, 1000);
	PUT(&synthetic, syscall, .time = 3000, .thread = 1, .duration = 10, .fiber = 7);
	PUT(&synthetic, syscall, .time = 4000, .thread = 1, .duration = 10);
	synthetic_end(&synthetic, 9000);
	exported = export_as(&synthetic, "firefox", NULL);
	check_firefox(&exported);
	CHECK(memmem(exported.data, exported.size, ",\"fiber\":7", 10) != NULL);
	CHECK(memmem(exported.data, exported.size, ",\"fiber\":0", 10) == NULL);
	free(exported.data);
	synthetic_free(&synthetic);
}

TEST(hostile_names_stay_valid_json)
{
	struct synthetic synthetic;
	struct exported exported;

	hostile_profile(&synthetic);
	exported = export_as(&synthetic, "firefox", NULL);
	check_firefox(&exported);
	free(exported.data);
	synthetic_free(&synthetic);
}

/* A profile of which only the header is there still opens. */
TEST(nothing_recorded_is_valid)
{
	struct synthetic synthetic;
	struct exported exported;

	synthetic_begin(&synthetic);
	CHECK_EQ(profile_writer_close(synthetic.writer), 0);
	exported = export_as(&synthetic, "firefox", NULL);
	CHECK_EQ(exported.result.state, PROFILE_UNFINISHED);
	check_firefox(&exported);
	free(exported.data);
	synthetic_free(&synthetic);
}

TEST(a_torn_profile_is_valid_at_any_length)
{
	struct app app;
	size_t whole;

	synthetic_app(&app, 20, true);
	CHECK_EQ(profile_writer_flush(app.synthetic.writer), 0);
	synthetic_end(&app.synthetic, app.time + 1000);
	whole = app.synthetic.size;
	for (size_t part = 1; part <= 4; part++) {
		struct export_options options = {0};
		struct exported exported;

		app.synthetic.size = whole * part / 4 - (part < 4);
		if (try_export(&app.synthetic, "firefox", &options, &exported) == 0)
			check_firefox(&exported);
		free(exported.data);
	}
	synthetic_free(&app.synthetic);
}

/* Two programs in a row, with one pid and tid, one of them with two heaps; phases; late events. */
static void strange_profile(struct synthetic *synthetic)
{
	uint64_t main_frame, leaf, stack;

	synthetic_program(synthetic, 1000000);
	main_frame = synthetic_function(synthetic, "/bin/app", 1, "main");
	leaf = synthetic_function(synthetic, "/bin/app", 2, "outer");
	PUT(synthetic, symbol, .frame = leaf, .name = synthetic_string(synthetic, "inlined"),
	    .line = 9);
	stack = synthetic_stack(synthetic, (uint64_t[]){main_frame, leaf, 0});
	PUT(synthetic, process, .id = 2, .pid = 100, .time = 5000000);
	PUT(synthetic, thread, .id = 2, .process = 2, .tid = 100);
	/* A stack with a smaller id than its parent. */
	PUT(synthetic, stack, .id = 60, .frame = main_frame);
	PUT(synthetic, stack, .id = 50, .parent = 60, .frame = leaf);
	for (uint64_t i = 0; i < 40; i++) {
		uint64_t thread = 1 + i / 20, time = 2000000 + i * 1000000;

		PUT(synthetic, cpu, .time = i % 7 ? time : time - 2500000, .thread = thread,
		    .stack = i % 3 ? stack : 50);
		PUT(synthetic, alloc, .time = time + 10, .thread = thread,
		    .stack = i % 5 ? stack : 0, .sample = i + 1, .size = i % 13 ? 100 + i : 0,
		    .period = 4096, .kind = i % 9 ? 1 : 3);
		PUT(synthetic, syscall, .time = time + 900000, .thread = thread,
		    .number = i % 4 ? 0 : 999, .duration = 800000, .result = i % 2 ? -11 : 7,
		    .stack = i % 4 ? stack : 0, .flags = i % 5 ? 0 : 4);
		PUT(synthetic, gc_begin, .time = time + 100000, .thread = thread, .heap = 1 + i % 2,
		    .cycle = i, .kind = i % 3 + 1, .reason = i % 8);
		PUT(synthetic, gc_begin, .time = time + 200000, .thread = thread, .heap = 1 + i % 2,
		    .cycle = 100 + i, .kind = (i + 1) % 3 + 1, .reason = 1);
		PUT(synthetic, fate, .time = time + 250000, .process = thread, .sample = i,
		    .outcome = i % 4 + 1);
		PUT(synthetic, gc_end, .time = time + 300000, .thread = thread, .heap = 1 + i % 2,
		    .cycle = 100 + i, .kind = (i + 1) % 3 + 1);
		PUT(synthetic, gc_end, .time = time + 400000, .thread = thread, .heap = 1 + i % 2,
		    .cycle = i, .kind = i % 3 + 1, .has_stats = 1, .live_bytes = 1000 * (40 - i),
		    .arena_bytes = 100000, .allocated_bytes = i * 5000, .phase = i % 4 + 1);
		PUT(synthetic, phase, .time = time + 350000, .thread = thread, .heap = 1 + i % 2,
		    .phase = i % 6);
		PUT(synthetic, period, .time = time + 360000, .thread = thread, .old_period = i,
		    .new_period = 2 * i, .reason = i % 7);
	}
	/* An end before its beginning. */
	PUT(synthetic, gc_begin, .time = 44000000, .thread = 2, .heap = 1, .cycle = 900, .kind = 1);
	PUT(synthetic, gc_end, .time = 43000000, .thread = 2, .heap = 1, .cycle = 900, .kind = 1);
	PUT(synthetic, phase, .time = 44000000, .thread = 2, .heap = 1, .phase = 2);
	PUT(synthetic, phase, .time = 43500000, .thread = 2, .heap = 1, .phase = 3);
	PUT(synthetic, exit, .time = 45000000, .thread = 2, .last = 1);
	synthetic_end(synthetic, 46000000);
}

TEST(strange_profiles_are_valid)
{
	struct synthetic synthetic;
	json_t *object;

	strange_profile(&synthetic);
	object = export_firefox(&synthetic);
	/* Two processes with a thread and a track of allocations each. */
	CHECK_EQ(json_array_size(json_object_get(object, "threads")), 4);
	CHECK_EQ(json_array_size(json_object_get(object, "counters")), 16);
	CHECK_STR(json_string_value(json_at(object, "threads.0.pid")), "100");
	CHECK_STR(json_string_value(json_at(object, "threads.2.pid")), "100.2");
	json_decref(object);
	synthetic_free(&synthetic);
}

TEST(stacks_hold_inlined_functions_types_and_fates)
{
	struct synthetic synthetic;
	json_t *object, *shared, *thread;
	uint64_t main_frame, slow, stack;
	char names[512];

	synthetic_program(&synthetic, 1000);
	synthetic_own(&synthetic, "/bin/app", 2, 1);
	main_frame = synthetic_function(&synthetic, "/bin/app", 1, "main");
	PUT(&synthetic, symbol, .frame = main_frame,
	    .name = synthetic_string(&synthetic, "inlined"));
	slow = synthetic_function(&synthetic, "/bin/app", 2, "gc_alloc_slow");
	stack = synthetic_stack(&synthetic, (uint64_t[]){main_frame, slow, 0});
	PUT(&synthetic, type, .process = 1, .type = 5,
	    .name = synthetic_string(&synthetic, "cons"));
	for (uint64_t i = 1; i <= 3; i++)
		PUT(&synthetic, alloc, .time = 2000 + i, .thread = 1, .stack = stack, .sample = i,
		    .type = 5, .size = 5000, .period = 10, .kind = 1);
	PUT(&synthetic, fate, .time = 3000, .process = 1, .sample = 1, .outcome = 1);
	PUT(&synthetic, fate, .time = 3000, .process = 1, .sample = 2, .outcome = 2);
	PUT(&synthetic, fate, .time = 4000, .process = 1, .sample = 2, .outcome = 4);
	PUT(&synthetic, cpu, .time = 5000, .thread = 1, .stack = stack);
	synthetic_end(&synthetic, 6000);
	object = export_firefox(&synthetic);
	shared = json_object_get(object, "shared");
	thread = json_at(object, "threads.1");
	CHECK_STR(json_string_value(json_at(thread, "name")), "Allocations (sampled)");
	sample_names(object, thread, 0, names, sizeof(names));
	CHECK_STR(names, "(died young),cons,inlined,main");
	sample_names(object, thread, 1, names, sizeof(names));
	CHECK_STR(names, "(survived),cons,inlined,main");
	sample_names(object, thread, 2, names, sizeof(names));
	CHECK_STR(names, "(outcome unknown),cons,inlined,main");
	thread = json_at(object, "threads.0");
	stack_names(shared, json_integer_value(json_at(thread, "samples.stack.0")), names,
		    sizeof(names));
	CHECK_STR(names, "gc_alloc_slow,inlined,main");
	/* Allocated thrice, freed by a minor and by a major collection, and not known to be live.
	 */
	CHECK_EQ(json_integer_value(json_at(thread, "nativeAllocations.length")), 6);
	CHECK_EQ(json_integer_value(json_at(thread, "nativeAllocations.weight.0")), 5000);
	CHECK_EQ(json_integer_value(json_at(thread, "nativeAllocations.weight.3")), -5000);
	stack_names(shared, json_integer_value(json_at(thread, "nativeAllocations.stack.3")), names,
		    sizeof(names));
	CHECK_STR(names, "(freed by a minor collection)");
	stack_names(shared, json_integer_value(json_at(thread, "nativeAllocations.stack.4")), names,
		    sizeof(names));
	CHECK_STR(names, "(freed by a major collection)");
	stack_names(shared, json_integer_value(json_at(thread, "nativeAllocations.stack.5")), names,
		    sizeof(names));
	CHECK_STR(names, "(outcome unknown)");
	CHECK(find_string(object, "cons") > 0);
	json_decref(object);
	synthetic_free(&synthetic);
}

/* Too much for the limit: what is shown fits, is valid, adds up, and it is said. */
TEST(large_profiles_are_thinned_out)
{
	struct app app;
	struct export_options options = {.limit = 400000};
	struct exported exported;
	struct model *model;
	json_t *object, *thread;
	double cpu = 0, bytes = 0;
	size_t i;

	synthetic_app(&app, 1500, false);
	model = synthetic_loaded(&app.synthetic, app.time + 1000);
	CHECK_EQ(try_export(&app.synthetic, "firefox", &options, &exported), 0);
	CHECK(exported.size <= options.limit);
	CHECK(exported.size > options.limit / 8);
	check_firefox(&exported);
	CHECK(strstr(exported.result.note, "timer samples"));
	CHECK(strstr(exported.result.note, "sampled allocations"));
	CHECK(strstr(exported.result.note, "system calls"));
	CHECK(strstr(exported.result.note, "collections"));
	object = parse_json(&exported);
	json_array_foreach(json_object_get(object, "threads"), i, thread)
	{
		const char *unit = json_string_value(json_at(thread, "samples.weightType"));
		double sum = json_sum(json_at(thread, "samples.weight"));

		cpu += strcmp(unit, "tracing-ms") == 0 ? sum : 0;
		bytes += strcmp(unit, "bytes") == 0 ? sum : 0;
	}
	/* The time exactly, what is allocated as far as fewer samples can tell. */
	CHECK(is_near(cpu, (double)model->cpu.on_cpu_ns / 1e6, 0.1));
	CHECK(is_near(bytes, model->alloc.bytes.value, model->alloc.bytes.value / 3));
	CHECK_STR(json_string_value(json_at(object, "meta.extra.3.entries.0.value")),
		  exported.result.note);
	json_decref(object);
	model_free(model);
	free(exported.data);
	synthetic_free(&app.synthetic);
}

TEST(what_cannot_be_made_small_is_refused)
{
	struct app app;
	struct export_options options = {.limit = 10000};
	struct exported exported;

	synthetic_app(&app, 10, false);
	synthetic_end(&app.synthetic, app.time + 1000);
	CHECK_EQ(try_export(&app.synthetic, "firefox", &options, &exported), -EFBIG);
	free(exported.data);
	synthetic_free(&app.synthetic);
}
