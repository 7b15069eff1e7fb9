/* SPDX-License-Identifier: BSD-2-Clause */
/* export_firefox_graphs.c: tests of what the export for the Firefox Profiler draws over time. */
#include "export_firefox_rig.h"
#include "synthetic_runtime.h"
#include "synthetic_waits.h"

/* One wait is two samples: the first weighs all of it, both are idle, no CPU time is between. */
TEST(waits_are_idle_samples_of_their_threads)
{
	struct synthetic synthetic;
	json_t *object, *shared, *samples;
	char names[512];

	synthetic_waits(&synthetic);
	object = export_firefox(&synthetic);
	shared = json_object_get(object, "shared");
	samples = json_at(object, "threads.0.samples");
	/*
	 * The begin, a tick, two waits: at 2500 for 500 and 100 before, at 3850 for 50; 100 and 40
	 * that have no record. The tick stands for more time than there is.
	 */
	CHECK_EQ(json_integer_value(json_at(samples, "length")), 11);
	CHECK(is_near(json_sum(json_at(samples, "weight")), 1 + 0.00079, 1e-9));
	CHECK(is_near(json_number_value(json_at(samples, "time.2")), 0.0015, 1e-9));
	CHECK(is_near(json_number_value(json_at(samples, "time.3")), 0.002, 1e-9));
	CHECK(is_near(json_number_value(json_at(samples, "weight.2")), 0.0006, 1e-9));
	CHECK(is_near(json_number_value(json_at(samples, "weight.3")), 0, 1e-9));
	stack_names(shared, json_integer_value(json_at(samples, "stack.2")), names, sizeof(names));
	CHECK_STR(names, "(waiting in a system call),f");
	stack_names(shared, json_integer_value(json_at(samples, "stack.4")), names, sizeof(names));
	CHECK_STR(names, "(waiting for a page),(no stack)");
	samples = json_at(object, "threads.1.samples");
	CHECK_EQ(json_integer_value(json_at(samples, "length")), 8);
	CHECK(is_near(json_sum(json_at(samples, "weight")), 2 + 0.0043, 1e-9));
	stack_names(shared, json_integer_value(json_at(samples, "stack.2")), names, sizeof(names));
	CHECK_STR(names, "(preempted),g");
	json_decref(object);
	synthetic_free(&synthetic);
}

/*
 * Ticks come at random times and stand for a ms each. What the time since the last row cannot hold
 * is in later rows, but not in the wait.
 */
TEST(no_cpu_time_gets_lost)
{
	static const uint64_t wanted[] = {0, 1000000, 100000, 1700000, 200000, 0, 100000, 900000};
	struct synthetic synthetic;
	json_t *object, *deltas;
	uint64_t f;

	synthetic_program(&synthetic, 1000);
	f = synthetic_stack(&synthetic,
			    (uint64_t[]){synthetic_function(&synthetic, "/bin/app", 1, "f"), 0});
	PUT(&synthetic, cpu, .time = 10200000, .thread = 1, .stack = f, .mode = 1);
	PUT(&synthetic, cpu, .time = 10300000, .thread = 1, .stack = f, .mode = 1);
	PUT(&synthetic, cpu, .time = 12000000, .thread = 1, .stack = f, .mode = 1);
	PUT(&synthetic, wait, .time = 20000000, .thread = 1, .duration = 7500000, .number = 0,
	    .flags = 1, .stack = f);
	PUT(&synthetic, cpu, .time = 20100000, .thread = 1, .stack = f, .mode = 1);
	synthetic_end(&synthetic, 25000000);
	object = export_firefox(&synthetic);
	deltas = json_at(object, "threads.0.samples.threadCPUDelta");
	CHECK_EQ(json_array_size(deltas), 8);
	for (size_t i = 0; i < 8; i++)
		CHECK(is_near((double)json_integer_value(json_array_get(deltas, i)),
			      (double)wanted[i], 10));
	json_decref(object);
	synthetic_free(&synthetic);
}

/* Those of all threads, each standing for those before it; one comes late. */
TEST(page_faults_are_a_track_of_their_process)
{
	struct synthetic synthetic;
	json_t *object, *track, *samples, *weights;
	char names[512];
	uint64_t f;

	synthetic_program(&synthetic, 1000);
	PUT(&synthetic, thread, .id = 2, .process = 1, .tid = 101);
	f = synthetic_stack(&synthetic,
			    (uint64_t[]){synthetic_function(&synthetic, "/bin/app", 1, "f"), 0});
	PUT(&synthetic, cpu, .time = 2000, .thread = 1, .stack = f, .mode = 1);
	PUT(&synthetic, fault, .time = 3000, .thread = 1, .minor = 5, .major = 1, .stack = f);
	PUT(&synthetic, fault, .time = 2900, .thread = 2, .minor = 1);
	synthetic_end(&synthetic, 10000);
	object = export_firefox(&synthetic);
	track = json_at(object, "threads.1");
	CHECK_STR(json_string_value(json_object_get(track, "name")), "Page faults");
	CHECK_STR(json_string_value(json_at(track, "samples.weightType")), "samples");
	samples = json_object_get(track, "samples");
	weights = json_object_get(samples, "weight");
	CHECK_EQ(json_integer_value(json_array_get(weights, weighing(samples, 0))), 6);
	CHECK_EQ(json_integer_value(json_array_get(weights, weighing(samples, 1))), 1);
	CHECK(is_near(json_sum(weights), 7, 1e-9));
	CHECK(is_near(json_number_value(json_array_get(json_object_get(samples, "time"),
						       weighing(samples, 1))),
		      0.002, 1e-9));
	sample_names(object, track, 0, names, sizeof(names));
	CHECK_STR(names, "f");
	json_decref(object);
	synthetic_free(&synthetic);
}

TEST(page_faults_that_are_thinned_out_keep_their_number)
{
	enum { FAULTS = 20000 };
	struct export_options options = {.limit = 120000};
	struct synthetic synthetic;
	struct exported exported;
	json_t *object;

	synthetic_program(&synthetic, 1000);
	for (uint64_t i = 1; i <= FAULTS; i++)
		PUT(&synthetic, fault, .time = 1000 + i * 20000, .thread = 1, .minor = 1 + i % 3);
	synthetic_end(&synthetic, 600000000);
	CHECK_EQ(try_export(&synthetic, "firefox", &options, &exported), 0);
	CHECK(exported.size <= options.limit);
	check_firefox(&exported);
	CHECK(strstr(exported.result.note, "page faults is shown"));
	object = parse_json(&exported);
	CHECK(is_near(json_sum(json_at(object, "threads.1.samples.weight")), FAULTS * 2.0, 1.5));
	CHECK(json_integer_value(json_at(object, "threads.1.samples.length")) < FAULTS);
	json_decref(object);
	free(exported.data);
	synthetic_free(&synthetic);
}

/* Many waits: those that are shown weigh as much as all of them. */
TEST(waits_that_are_thinned_out_keep_their_weight)
{
	enum { WAITS = 5000 };
	struct export_options options = {.limit = 120000};
	struct synthetic synthetic;
	struct exported exported;
	json_t *object;

	synthetic_program(&synthetic, 1000);
	for (uint64_t i = 1; i <= WAITS; i++)
		PUT(&synthetic, wait, .time = 1000 + i * 100000, .thread = 1, .duration = 60000,
		    .flags = 1, .held_ns = i % 2 * 1000);
	synthetic_end(&synthetic, 600000000);
	CHECK_EQ(try_export(&synthetic, "firefox", &options, &exported), 0);
	CHECK(exported.size <= options.limit);
	check_firefox(&exported);
	CHECK(strstr(exported.result.note, "waits is shown"));
	object = parse_json(&exported);
	CHECK(is_near(json_sum(json_at(object, "threads.0.samples.weight")),
		      (WAITS * 60000 + WAITS / 2 * 1000) / 1e6, 1e-3));
	CHECK(json_integer_value(json_at(object, "threads.0.samples.length")) < WAITS);
	json_decref(object);
	free(exported.data);
	synthetic_free(&synthetic);
}

/* Levels of a counter after each sample. */
static void check_levels(json_t *counter, const char *label, const int64_t *wanted, size_t count)
{
	json_t *counts = json_at(counter, "samples.count"), *item;
	int64_t level = 0;
	size_t i;

	CHECK_STR(json_string_value(json_at(counter, "display.label")), label);
	CHECK_EQ(json_array_size(counts), count);
	json_array_foreach(counts, i, item)
	{
		level += json_integer_value(item);
		CHECK_EQ(level, wanted[i]);
	}
}

TEST(counters_are_differences_behind_a_zero)
{
	struct synthetic synthetic;
	json_t *object;

	synthetic_program(&synthetic, 1000);
	for (uint64_t i = 1; i <= 3; i++) {
		PUT(&synthetic, gc_begin, .time = 1000 * i + 100, .thread = 1, .heap = 1,
		    .cycle = i, .kind = 1);
		PUT(&synthetic, gc_end, .time = 1000 * i + 200, .thread = 1, .heap = 1, .cycle = i,
		    .kind = 1, .has_stats = 1, .live_bytes = i == 2 ? 900 : 300 * i,
		    .arena_bytes = 4096, .large_bytes = 50, .allocated_bytes = 10000 * i,
		    .rss_bytes = i == 2 ? 0 : 7000 * i);
	}
	PUT(&synthetic, exit, .time = 5500, .thread = 1, .last = 1);
	synthetic_end(&synthetic, 6000);
	object = export_firefox(&synthetic);
	check_levels(json_at(object, "counters.0"), "Heap used", (int64_t[]){0, 300, 900, 900, 900},
		     5);
	check_levels(json_at(object, "counters.1"), "Arenas",
		     (int64_t[]){0, 4096, 4096, 4096, 4096}, 5);
	check_levels(json_at(object, "counters.2"), "Large objects", (int64_t[]){0, 50, 50, 50, 50},
		     5);
	check_levels(json_at(object, "counters.3"), "Allocation rate",
		     (int64_t[]){0, 10000, 20000, 30000, 30000}, 5);
	/* The second collection did not tell it. */
	check_levels(json_at(object, "counters.4"), "RSS", (int64_t[]){0, 7000, 7000, 21000, 21000},
		     5);
	/* The last collection was at 3200, the process ends at 5500. */
	CHECK(is_near(json_number_value(json_at(object, "counters.0.samples.time.4")), 0.0045,
		      1e-9));
	json_decref(object);
	synthetic_free(&synthetic);
}

/*
 * Of a runtime that tells the size of its heap before and after collections and cycles; samples
 * tell the rate.
 */
TEST(heaps_of_runtimes_have_counters_and_graphs)
{
	static const char graph[] = "{\"type\":\"GcprofHeap\",\"used\":67108864,"
				    "\"committed\":268435456}";
	struct synthetic_runtime runtime;
	struct exported exported;
	json_t *object;

	synthetic_runtime(&runtime, "hotspot");
	synthetic_end(&runtime.synthetic, runtime.time);
	exported = export_as(&runtime.synthetic, "firefox", NULL);
	check_firefox(&exported);
	object = parse_json(&exported);
	CHECK_STR(json_string_value(json_at(object, "counters.0.display.label")), "Heap used");
	CHECK_STR(json_string_value(json_at(object, "counters.1.display.label")), "Heap size");
	CHECK_STR(json_string_value(json_at(object, "counters.2.display.label")),
		  "Allocation rate");
	CHECK_EQ(json_array_size(json_object_get(object, "counters")), 3);
	CHECK(is_near(json_sum(json_at(object, "counters.2.samples.count")), 1e6, 1));
	CHECK(memmem(exported.data, exported.size, graph, strlen(graph)) != NULL);
	json_decref(object);
	free(exported.data);
	synthetic_free(&runtime.synthetic);
}
