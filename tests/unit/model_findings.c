/* SPDX-License-Identifier: BSD-2-Clause */
/* model_findings.c: tests of findings: each kind is found where its cause is, and not else. */
#include "../../gc/provider/probe_args.h"
#include "findings_scene.h"
#include "model/world/timeline.h"

#include <signal.h>

TEST(a_calm_program_has_a_place_at_most)
{
	struct scene *scene = scene_make();

	scene_look(scene);
	CHECK_EQ(scene->n_found, 0);
	scene_place(scene, NULL, 4e9);
	CHECK(first(scene, "hot",
		    "40.0% of the CPU time (4.00 s) is spent in serve (called by main)"));
	CHECK_STR(scene->found[0].remedy, "");
	CHECK_STR(scene->found[0].function, "serve.constprop.0");
	CHECK_STR(scene->found[0].called_by, "main");
	CHECK(scene->found[0].share > 0.39 && scene->found[0].share < 0.41);
	scene_free(scene);
}

/* A program chooses the names of its functions, and a user copies the command. */
TEST(commands_have_one_word_for_each_name)
{
	struct scene *scene = scene_make();

	scene_place(scene, NULL, 4e9)->function = QUOTED;
	scene_look(scene);
	CHECK(found(scene, "hot"));
	CHECK_STR(scene->found[0].command, "gcprof report --callees 'f'\\''; id; '\\'''");
	scene_free(scene);
}

TEST(what_libraries_do_in_vain_is_charged_to_their_callers)
{
	static const struct pattern patterns[] = {
		{PATTERN_REPEATED, "regcomp", "", "Compile it once"},
		{PATTERN_COPYING, "__memmove_*", "", "Copy less"},
		{PATTERN_COPYING, "std::map<*::map(", "", "Pass a reference"},
		{PATTERN_SLOW_WAY, "fmt.Sprintf", "", "Use strconv"},
		{PATTERN_ERRORS, "__cxa_throw", "", ""},
		{PATTERN_FAULTS, "asm_exc_page_fault", "", ""},
		{PATTERN_QUERY, "sqlite3_step", "", ""},
		{PATTERN_SPIN, "sched_yield", "", ""},
	};
	/* Each query locks the file. */
	struct model_syscall fcntl = {.name = "fcntl", .number = 72, .count = 90000};
	static const char *const kinds[][2] = {
		{"repeated", "is regcomp in serve (called by main)"},
		{"copying", "is memmove in serve (called by main)"},
		{"copying", "is std::map in serve (called by main)"},
		{"slow_way", "is fmt.Sprintf in serve (called by main)"},
		{"errors", "is cxa_throw in serve"},
		{"faults", "is page faults in serve"},
		{"queries", "is sqlite3_step in serve"},
		{"spinning", "is waiting in a loop in serve"},
	};

	for (size_t i = 0; i < sizeof(patterns) / sizeof(*patterns); i++) {
		struct scene *scene = scene_make();
		struct place *place = scene_place(scene, &patterns[i], 4e9);

		scene->model.syscalls = &fcntl;
		scene->model.n_syscalls = 1;
		scene->places[scene->n++] =
			(struct place){.function = SERVE, .pattern = &patterns[i], .call = 73};
		CHECK(first(scene, kinds[i][0], kinds[i][1]));
		CHECK(!found(scene, "hot"));
		/* 3 % of the time are needed, and more than a few samples. */
		place->cpu_ns = 2e8;
		scene_look(scene);
		CHECK(!found(scene, kinds[i][0]));
		scene_free(scene);
	}
}

TEST(small_texts_are_made_and_not_copied)
{
	static const struct pattern concat = {PATTERN_COPYING, "java.lang.invoke.*", "", "Use one"};
	struct scene *scene = scene_make();
	struct place *place = scene_place(scene, &concat, 4e9);

	place->samples = 50;
	place->bytes.observed = 50 * 40;
	scene_look(scene);
	CHECK(!found(scene, "copying"));
	CHECK(found(scene, "hot"));
	place->bytes.observed = 50 * 40000;
	CHECK(first(scene, "copying", "in serve (called by main)"));
	scene_free(scene);
}

/* Writing a file or an answer is no copy; reading again what one wrote is. */
TEST(what_is_written_and_read_again_is_copied)
{
	static const struct pattern write = {PATTERN_WRITES, "Builtin_JsonStringify", "", "Share"};
	static const struct pattern read = {PATTERN_READS, "v8::internal::Builtin_JsonParse*", "",
					    "Share"};
	struct scene *scene = scene_make();
	struct place *place = scene_place(scene, &write, 2e9);

	scene_place(scene, &read, 3e9)->function = MAIN;
	scene_look(scene);
	CHECK(!found(scene, "copying"));
	place->function = MAIN;
	CHECK(first(scene, "copying", "50.0% of the CPU time (5.00 s) is JsonParse in main"));
	CHECK_STR(scene->found[0].remedy, "Share.");
	scene_free(scene);
}

TEST(matching_is_what_an_expression_is_for_unless_it_takes_most_of_the_time)
{
	static const struct pattern match = {PATTERN_MATCHING, "regexec", "", ""};
	struct scene *scene = scene_make();
	struct place *place = scene_place(scene, &match, 4e9);

	scene_look(scene);
	CHECK(!found(scene, "matching"));
	place->cpu_ns = 6e9;
	CHECK(first(scene, "matching", "60.0% of the CPU time (6.00 s) is matching regular"));
	scene_free(scene);
}

/* The scheduler works for the program's channels, but for its locks as well. */
TEST(goroutines_that_stop_and_start_are_charged_with_the_scheduler)
{
	static const struct pattern send = {PATTERN_HANDOVER, "runtime.chansend*", "", ""};
	static const struct pattern mcall = {PATTERN_HANDOVER, "runtime.mcall", "", ""};
	static const struct pattern lock = {PATTERN_LOCK, "sync.(*Mutex).Lock", "", ""};
	struct scene *scene = scene_make();
	struct place *place = scene_place(scene, &send, 1e9);

	scene_place(scene, &mcall, 5e9)->function = 0;
	CHECK(first(scene, "handover",
		    "60.0% of the CPU time (6.00 s) is stopping and starting goroutines, most for "
		    "runtime.chansend in serve"));
	scene_place(scene, &lock, 1e9);
	scene_look(scene);
	CHECK(!found(scene, "handover"));
	scene->n--;
	place->cpu_samples = 3;
	scene_look(scene);
	CHECK(!found(scene, "handover"));
	scene_free(scene);
}

TEST(a_heap_that_grows_touches_its_pages_once)
{
	static const struct pattern faults = {PATTERN_FAULTS, "asm_exc_page_fault", "", ""};
	struct model_thread thread = {.minor_faults = 40000};
	struct scene *scene = scene_make();

	scene_place(scene, &faults, 4e9);
	scene->model.threads = &thread;
	scene->model.n_threads = 1;
	scene->model.gc.heap_peak_bytes = 40000 * 4096;
	scene_look(scene);
	CHECK(!found(scene, "faults"));
	thread.minor_faults = 200000;
	CHECK(first(scene, "faults", "is page faults in serve"));
	scene_free(scene);
}

TEST(missing_cpus_come_first_only_if_nothing_else_costs_more)
{
	static const struct pattern regcomp = {PATTERN_REPEATED, "regcomp", "", "Compile it once"};
	struct scene *scene = scene_make();

	scene->model.cpu.queued_ns = 5 * second;
	CHECK(first(scene, "no_cpu", "Threads were ready to run for 5.00 s but had no CPU, 33.3%"));
	CHECK(strstr(scene->found[0].remedy, "nr_throttled"));
	scene->model.cpu.quota_known = true;
	CHECK(first(scene, "no_cpu", "Threads were ready"));
	CHECK(strstr(scene->found[0].remedy, "Other programs use the CPUs: "));
	scene->model.cpu.quota_ns = 4 * second;
	scene->model.cpu.quota_milli_cpus = 500;
	CHECK(first(scene, "no_cpu", "group was used up for 4.00 s (0.5 CPUs)."));
	CHECK(strstr(scene->found[0].remedy, "Raise the quota"));
	scene->model.cpu.quota_ns = 0;
	scene_place(scene, &regcomp, 6e9);
	CHECK(first(scene, "repeated", "regcomp"));
	CHECK_STR(scene->found[1].kind, "no_cpu");
	scene->model.cpu.queued_ns = 9 * second;
	CHECK(first(scene, "no_cpu", "9.00 s"));
	scene_free(scene);
}

TEST(own_threads_are_told_from_other_programs)
{
	struct model_thread threads[5];
	struct scene *scene = scene_make();

	for (int i = 0; i < 5; i++)
		threads[i] = (struct model_thread){.cpu_ns = 2e9};
	scene->model.threads = threads;
	scene->model.n_threads = 5;
	scene->model.cpu.queued_ns = 30 * second;
	CHECK(first(scene, "own_threads", ": 5 threads compute on 2 CPUs."));
	CHECK(strstr(scene->found[0].remedy, "Use no more threads than CPUs"));
	scene_free(scene);
}

TEST(a_short_program_waits_for_its_compiler)
{
	struct model_runtime runtime = {.name = "hotspot"};
	struct scene *scene = scene_make();

	scene->model.runtimes = &runtime;
	scene->model.n_runtimes = 1;
	scene->model.cpu.work_ns[WORK_COMPILER] = 6 * second;
	/* Beside it, on a CPU that is free. */
	scene_look(scene);
	CHECK(!found(scene, "compiling"));
	scene->model.cpu.queued_ns = 10 * second;
	scene_look(scene);
	CHECK(found(scene, "compiling"));
	/* A server runs on. */
	scene->model.run.end_reason = END_DURATION;
	scene_look(scene);
	CHECK(!found(scene, "compiling"));
	scene->model.run.end_reason = END_EXITED;
	scene->model.cpu.work_ns[WORK_COMPILER] = 3 * second;
	scene_look(scene);
	CHECK(!found(scene, "compiling"));
	scene_free(scene);
}

TEST(a_death_is_first_and_names_the_last_place)
{
	struct scene *scene = scene_make();

	scene_place(scene, NULL, 4e9);
	scene->model.run.status = SIGSEGV;
	CHECK(first(scene, "died",
		    "was killed by SIGSEGV (Segmentation fault) after 10.0 s; it was last on a CPU "
		    "in main"));
	scene->model.run.status = SIGTERM;
	scene_look(scene);
	CHECK(!found(scene, "died"));
	scene_free(scene);
}

/* Collections that cost 4 s, charged to serve(). */
static struct scene *collecting(struct model_runtime *runtime, const char *name)
{
	struct scene *scene = scene_make();
	struct place *place = scene_place(scene, NULL, 1e9);

	*runtime = (struct model_runtime){.name = name, .program = "app"};
	scene->model.runtimes = runtime;
	scene->model.n_runtimes = 1;
	scene->model.gc.major = (struct model_pauses){.count = 50, .total_ns = 4 * second};
	scene->model.cpu.collector_ns = 4e9;
	place->collector_ns = 4e9;
	return scene;
}

static void charge(struct scene *scene)
{
	struct place *place = &scene->places[scene->n - 1];

	place->caused.parts[0][0] = 3e9;
	place->bytes = (struct tally){.value = 1e9, .observed = 1e9};
}

TEST(collections_are_charged_to_those_that_allocate)
{
	struct model_runtime runtime;
	struct scene *scene = collecting(&runtime, "cpython");

	/* Nothing was sampled: its collector works in the thread that allocates. */
	CHECK(first(scene, "collections",
		    "Collections took 4.00 s (40.0% of the CPU time), mostly in serve (called by "
		    "main)."));
	CHECK(strstr(scene->found[0].remedy, "gc.freeze()"));
	CHECK(!strstr(scene->found[0].remedy, "steps"));
	scene_free(scene);
	scene = collecting(&runtime, "hotspot");
	charge(scene);
	CHECK(first(scene, "collections", "75.0% of it is caused by what is allocated in serve"));
	CHECK_EQ(scene->n_found, 1);
	scene_free(scene);
}

TEST(a_heap_that_grows_is_no_heap_that_was_filled)
{
	struct timeline *timeline = calloc(1, sizeof(*timeline));
	struct model_runtime runtime;
	struct scene *scene = collecting(&runtime, "go");
	struct model_gc_cycle cycle = {.live_bytes = 336 << 20, .limit_bytes = 512 << 20};

	if (!timeline)
		abort();
	charge(scene);
	timeline->count = 20;
	timeline->step_ns = second;
	scene->model.timeline = timeline;
	for (int i = 0; i < 20; i++)
		timeline->windows[i].heap_bytes = (uint64_t)(i + 2) << 24;
	scene->model.run.end_reason = END_DURATION;
	/* Who allocates may keep nothing. */
	CHECK(first(scene, "heap_grows",
		    "from 32.0 MiB to 336 MiB after collections. No limit of it is known."));
	CHECK(strstr(scene->found[0].evidence, "was not recorded"));
	scene->model.gc.paces.kept_known = true;
	scene->places[scene->n - 1].survived = (struct share){.all = 1e9, .some = 5e8};
	scene->places[scene->n - 1].caused.parts[0][CHARGE_KEPT] = 1e9;
	scene->model.gc.paces.of[0].parts[CHARGE_FIXED] = 3e9;
	scene->model.gc.paces.of[0].parts[CHARGE_KEPT] = 1e9;
	CHECK(first(
		scene, "heap_grows",
		"from 32.0 MiB to 336 MiB after collections, most by what is allocated in serve "
		"(called by main). No limit of it is known."));
	/* 304 MiB in 19 s, and 176 MiB are left. */
	scene->model.gc_cycles = &cycle;
	scene->model.n_gc_cycles = 1;
	CHECK(first(scene, "heap_grows",
		    "At this rate it reaches its limit, 512 MiB, in another 11.0 s."));
	scene->model.run.memory_limit = 500 << 20;
	scene->model.run.memory_used = 420 << 20; /* so 80 MiB are left, and no 176 */
	CHECK(first(scene, "heap_grows",
		    "it reaches the memory of its control group, 500 MiB, in another 5.00 s."));
	scene->model.run.memory_used = 100 << 20;
	CHECK(first(scene, "heap_grows", "it reaches its limit, 512 MiB, in another 11.0 s."));
	scene->model.run.memory_limit = 0;
	/* It did its work, with a heap that was nearly full or not. */
	scene->model.run.end_reason = END_EXITED;
	CHECK(first(scene, "heap_grows", "another 11.0 s."));
	cycle.limit_bytes = UINT64_C(1) << 30;
	CHECK(first(scene, "collections", "serve"));
	scene->model.run.status = 256;
	CHECK(first(scene, "heap_grows", "its limit, 1.00 GiB"));
	for (int i = 5; i < 20; i++)
		timeline->windows[i].heap_bytes = (uint64_t)100 << 24;
	CHECK(first(scene, "collections", "serve"));
	scene_free(scene);
	free(timeline);
}

TEST(a_heap_without_room_names_its_limit)
{
	struct model_heap_area area = {.name = "G1 Old Gen",
				       .in_heap = true,
				       .collections = 50,
				       .used_bytes = 58 << 20,
				       .peak_bytes = 60 << 20,
				       .max_bytes = 64 << 20};
	struct model_runtime runtime;
	struct scene *scene = collecting(&runtime, "hotspot");

	charge(scene);
	scene->model.heap_areas = &area;
	scene->model.n_heap_areas = 1;
	CHECK(first(scene, "no_room", "90.6% of its limit of 64.0 MiB"));
	CHECK(strstr(scene->found[0].remedy, "-Xmx"));
	scene->model.run.status = 1 << 8;
	CHECK(first(scene, "no_room", "OutOfMemoryError"));
	scene->model.run.status = 0;
	area.used_bytes = 10 << 20;
	CHECK(first(scene, "collections", "serve"));
	scene_free(scene);
}

TEST(collections_that_were_asked_for_or_come_from_large_objects)
{
	struct model_named_reason reason = {"G1 Humongous Allocation", 50, 4 * second};
	struct model_runtime runtime;
	struct scene *scene = collecting(&runtime, "hotspot");

	scene->model.gc.named_reasons = &reason;
	scene->model.gc.n_named_reasons = 1;
	scene->places[2].bytes = (struct tally){.value = 1e9, .observed = 1e9};
	scene->model.cpu.collector_ns = 3e9;
	CHECK(first(scene, "large", "100% of the pauses are because of objects too large"));
	scene->model.gc.n_named_reasons = 0;
	scene->model.gc.reasons[GCPROF_REASON_EXPLICIT].count = 3;
	scene->model.gc.reasons[GCPROF_REASON_EXPLICIT].total_ns = 4 * second;
	scene->model.gc.requests = 2;
	CHECK(first(scene, "explicit", "requested 2 collections"));
	scene->model.gc.requests_missing = true;
	CHECK(first(scene, "explicit", "requested up to 3 collections"));
	scene_free(scene);
}
