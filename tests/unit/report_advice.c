/* SPDX-License-Identifier: BSD-2-Clause */
/* report_advice.c: tests of what stands out: each rule speaks when it should, and not else. */
#include "report/advice.h"
#include "report/report.h"
#include "synthetic_app.h"

static const uint64_t second = 1000000000;

static char remedy[1024]; /* of the finding that says() found */

static bool says(const struct model *model, const char *name, const char *word)
{
	struct advice_list list = {.count = 0};
	bool found = false;

	CHECK_EQ(advice_find(model, &list), 0);
	for (size_t i = 0; i < list.count; i++) {
		if (strcmp(list.items[i].name, name) != 0)
			continue;
		printf("%s %s\n", list.items[i].evidence, list.items[i].remedy);
		found = strstr(list.items[i].evidence, word) != NULL;
		snprintf(remedy, sizeof(remedy), "%s", list.items[i].remedy);
		CHECK(*list.items[i].evidence);
	}
	advice_free(&list);
	return found;
}

/* Nothing happens in it that anybody should look at. */
static struct model calm(void)
{
	return (struct model){
		.run = {.duration = 10 * second, .wall = 10 * second},
		.alloc = {.samples = 1000, .period = 512 << 10, .bytes = {5e8, 4e8, 6e8}},
		.gc.minor = {.count = 100,
			     .total_ns = second / 10,
			     .p99_ns = 2000000,
			     .max_ns = 3000000},
		.stacks = {.samples = 1000, .complete = 990}};
}

TEST(a_calm_program_gets_no_advice)
{
	struct advice_list list = {.count = 0};
	struct model model = calm();

	CHECK_EQ(advice_find(&model, &list), 0);
	CHECK_EQ(list.count, 0);
	advice_free(&list);
	model = (struct model){0};
	CHECK_EQ(advice_find(&model, &list), 0);
	CHECK_EQ(list.count, 0);
	advice_free(&list);
}

TEST(collections_that_cost_name_who_causes_them)
{
	struct model_site sites[2] = {
		{.functions = {"make"}, .gc_ns = 1e8, .bytes = {1e8, 9e7, 2e8}, .life.samples = 50},
		{.functions = {"grow", "add"},
		 .gc_ns = 9e8,
		 .type = "posting",
		 .life.samples = 50,
		 .bytes = {1e8, 9e7, 2e8},
		 .survived = {0.9, 0.8, 1}},
	};
	struct model model = calm();

	model.sites = sites;
	model.n_sites = 2;
	CHECK(!says(&model, "costly_site", ""));
	model.gc.minor.total_ns = second;
	CHECK(says(&model, "costly_site", "90.0% of the time"));
	CHECK(says(&model, "costly_site", "grow (called by add)"));
	CHECK(says(&model, "costly_site", "posting"));
	sites[1].functions[1] = "example.com/a/very/long/path/of/a/module/and/its/package.(*T).add";
	CHECK(says(&model, "costly_site", "grow (called by package.(*T).add)"));
	sites[1].type = TYPE_UNKNOWN;
	CHECK(says(&model, "costly_site", ": 95.4 MiB, of which"));
	/* Two samples say nothing. */
	sites[1].life.samples = 2;
	CHECK(!says(&model, "costly_site", ""));
	CHECK(!says(&model, "small_nursery", ""));
	model.gc.fixed_ns = 8e6;
	model.gc.nursery_bytes = 4 << 20;
	CHECK(says(&model, "small_nursery", "every 100 ms"));
	/* Those of several threads overlap, so they have no share of wall time. */
	model.gc.overlap = true;
	CHECK(says(&model, "small_nursery", "100 minor collections took 1.00 s in all threads"));
	model.gc.overlap = false;
	CHECK(!says(&model, "long_pauses", ""));
	model.gc.minor.max_ns = second / 4;
	CHECK(says(&model, "long_pauses", "minor collection, took 250 ms"));
}

TEST(threads_that_wait_for_cpus)
{
	struct model model = calm();

	model.cpu.on_cpu_ns = (uint64_t)second;
	model.cpu.queued_ns = (uint64_t)(second / 4);
	CHECK(!says(&model, "queues", ""));
	model.cpu.queued_ns = (uint64_t)second;
	CHECK(says(&model, "queues", "for 1.00 s but waited for a CPU, 50.0%"));
	/* A short program. */
	model.cpu.on_cpu_ns = model.cpu.queued_ns = 100000000;
	CHECK(!says(&model, "queues", ""));
}

TEST(premature_promotion_is_shown_with_its_site)
{
	struct model_site site = {
		.functions = {"batch_add"}, .life.premature_bytes = 9e7, .gc_ns = 5e8};
	struct model_type type = {.name = "record",
				  .life = {.promoted_bytes = 1e8, .premature_bytes = 9e7}};
	struct model model = calm();

	model.sites = &site;
	model.types = &type;
	model.n_sites = model.n_types = 1;
	CHECK(says(&model, "premature_promotion", "90.0% of the 95.4 MiB"));
	CHECK(says(&model, "premature_promotion", "batch_add"));
	type.life.premature_bytes = 3e7;
	CHECK(!says(&model, "premature_promotion", ""));
	/* A few samples. */
	type.life = (struct life){.promoted_bytes = 1e6, .premature_bytes = 9e5};
	CHECK(!says(&model, "premature_promotion", ""));
}

TEST(calls_that_stall_fail_or_abound)
{
	struct model_syscall calls[5] = {
		{.name = "madvise",
		 .count = 90,
		 .total_ns = second,
		 .in_gc_count = 90,
		 .in_gc_ns = second},
		{.name = "read",
		 .count = 500,
		 .total_ns = second,
		 .in_gc_count = 30,
		 .in_gc_ns = second / 5},
		{.name = "openat", .count = 2000, .errors = 1990, .total_ns = 1000},
	};
	struct model model = calm();

	model.syscalls = calls;
	model.n_syscalls = 3;
	/* The collector's own do not count. */
	CHECK(says(&model, "stalled_calls", "30 of 500 calls of read"));
	CHECK(says(&model, "failing_calls", "1,990 of 2,000 calls of openat"));
	CHECK(!says(&model, "many_calls", ""));
	calls[1].count = 50000;
	calls[1].total_ns = 2 * second;
	calls[1].p50_ns = 15000;
	CHECK(says(&model, "many_calls", "50,000 calls of read took 2.00 s"));
	/* Half of them take a fraction of that: a few are slow, which fewer would not help. */
	calls[1].p50_ns = 1500;
	CHECK(!says(&model, "many_calls", ""));
	/* Nor do those that wait, for longer in total, hide others. */
	calls[1].p50_ns = 15000;
	calls[3] = (struct model_syscall){
		.name = "futex", .count = 20000, .total_ns = 900 * second, .p50_ns = 5000};
	model.n_syscalls = 4;
	CHECK(says(&model, "many_calls", "50,000 calls of read took 2.00 s"));
	calls[1].in_gc_ns = 1000;
	calls[2].errors = 20;
	calls[1].errors = 49000; /* nothing to read: no name is looked up in vain */
	/* The agent's questions are not the program's. */
	calls[4] = (struct model_syscall){
		.name = "rt_sigprocmask", .count = 4000, .errors = 3900, .total_ns = 1000};
	model.n_syscalls = 5;
	CHECK(!says(&model, "stalled_calls", ""));
	CHECK(!says(&model, "failing_calls", ""));
}

TEST(code_without_names_is_told_with_its_process)
{
	struct model_runtime runtimes[2] = {{.program = "node", .names = "With --names."},
					    {.program = "java", .names = "With --map."}};
	struct model_function functions[2] = {
		{.name = "main", .cpu_samples = 9000, .cpu_total_ns = 9e9},
		{.name = GENERATED_UNNAMED "java", .cpu_samples = 2000, .cpu_total_ns = 2e9},
	};
	struct model model = calm();

	model.functions = functions;
	model.n_functions = 2;
	model.cpu.on_cpu_ns = 9 * second;
	CHECK(says(&model, "unnamed_code", "code without names that java made at run time"));
	/* Nothing is known to help, or what its runtime says. */
	CHECK_STR(remedy, "");
	model.runtimes = runtimes;
	model.n_runtimes = 2;
	CHECK(says(&model, "unnamed_code", "java"));
	CHECK_STR(remedy, "With --map.");
	functions[1].cpu_total_ns = 1e8;
	CHECK(!says(&model, "unnamed_code", ""));
	functions[1].cpu_total_ns = 2e9;
	functions[1].name = "work";
	CHECK(!says(&model, "unnamed_code", ""));
}

TEST(code_without_symbols_is_told_with_its_file)
{
	struct model_runtime runtime = {.program = "git", .names = "With -g."};
	struct model_function functions[4] = {
		{.name = "main", .module = "/usr/bin/git", .cpu_self_ns = 5e9},
		{.name = "git+0x10",
		 .module = "/usr/bin/git",
		 .cpu_self_ns = 1e9,
		 .runtime = RUNTIME_NATIVE},
		{.name = "git+0x20",
		 .module = "/usr/bin/git",
		 .cpu_self_ns = 2e9,
		 .runtime = RUNTIME_NATIVE},
		{.name = "libz.so.1+0x20", .module = "/lib/libz.so.1", .cpu_self_ns = 5e8},
	};
	struct model model = calm();

	model.functions = functions;
	model.n_functions = 4;
	model.cpu.samples = 9000;
	model.cpu.on_cpu_ns = 9 * second;
	CHECK(says(&model, "stripped_code", "33.3% of the CPU time is in functions of git that"));
	CHECK_STR(remedy, "Install the debug symbols of its package, and record again.");
	for (int i = 0; i < 3; i++)
		functions[i].module = "/home/me/git";
	CHECK(says(&model, "stripped_code", "git"));
	CHECK_STR(remedy, "Build it without -s or strip, and record again.");
	model.runtimes = &runtime;
	model.n_runtimes = 1;
	CHECK(says(&model, "stripped_code", "git"));
	CHECK_STR(remedy, "");
	runtime.names_file = true;
	CHECK(says(&model, "stripped_code", "git"));
	CHECK_STR(remedy, "With -g.");
	/* The kernel's have no package of debug symbols, but a setting that hides names. */
	functions[1].runtime = functions[2].runtime = RUNTIME_KERNEL;
	CHECK(!says(&model, "stripped_code", ""));
}

TEST(doubtful_figures_are_called_so)
{
	struct model_stream streams[2] = {{.name = "alloc", .lost = 7}, {.name = "gc"}};
	struct model_loss losses[2] = {{.stream = "gc",
					.count = 657,
					.unit = "milliseconds",
					.text = "milliseconds passed",
					.severity_code = SEVERITY_GAP},
				       {.stream = "alloc",
					.count = 3,
					.unit = "files",
					.text = "files could not be attached",
					.severity_code = SEVERITY_LOST}};
	struct model model = calm();

	model.streams = streams;
	model.n_streams = 2;
	CHECK(says(&model, "lost_data", "7 events were lost (alloc 7)"));
	streams[0].lost = 0;
	CHECK(!says(&model, "lost_data", ""));
	/* What is counted in another unit is not added to events, and a time is no loss. */
	model.losses = losses;
	model.n_losses = 2;
	CHECK(says(&model, "lost_data", "3 files could not be attached."));
	CHECK(!says(&model, "lost_data", "event"));
	model.n_losses = 1;
	CHECK(!says(&model, "lost_data", ""));
	model.stacks.complete = 800;
	CHECK(says(&model, "unfinished_stacks", "20.0% of 1,000 stacks"));
	CHECK(!says(&model, "guessed_stacks", ""));
	/* Stacks that go on by frame pointers do not end there. */
	model.stacks.reasons[REASON_USER_GUESSED] = 150;
	CHECK(says(&model, "unfinished_stacks", "5.0% of 1,000 stacks"));
	CHECK(says(&model, "guessed_stacks", "15.0% of 1,000 stacks"));
	CHECK(strstr(remedy, "-fno-omit-frame-pointer"));
	model.stacks.guessed_generated = 140;
	CHECK(says(&model, "guessed_stacks", "which was made at run time"));
	CHECK_STR(remedy, "");
	model.stacks.reasons[REASON_USER_GUESSED] = 200;
	CHECK(!says(&model, "unfinished_stacks", ""));
	model.alloc.samples = 12;
	CHECK(says(&model, "few_samples", "Only 12 allocations"));
	model.alloc.samples = 0;
	CHECK(!says(&model, "few_samples", ""));
	model.gc.reasons[4].count = 3;
	model.gc.requests = 2;
	model.gc.reasons[4].total_ns = second;
	CHECK(says(&model, "explicit_collections", "requested 2 collections"));
	model.gc.requests_missing = true;
	CHECK(says(&model, "explicit_collections", "requested up to 3 collections"));
	model.gc.stop_max_ns = 50000000;
	model.gc.stop_ns = 90000000;
	CHECK(says(&model, "slow_stops", "at most 50.0 ms"));
}

/* The order that was asked for, in every table that knows it. */
TEST(tables_are_sorted_as_asked_for)
{
	struct app app;
	struct model *model;

	synthetic_app(&app, 60, false);
	synthetic_end(&app.synthetic, app.time + 1000);
	model = synthetic_model(&app.synthetic);
	CHECK_EQ(report_sort(model, NULL), 0);
	CHECK(report_sort(model, "beauty") < 0);
	CHECK_EQ(report_sort(model, "alloc"), 0);
	for (size_t i = 1; i < model->n_functions; i++)
		CHECK(model->functions[i - 1].alloc_self_bytes >=
		      model->functions[i].alloc_self_bytes);
	CHECK_EQ(report_sort(model, "gc"), 0);
	for (size_t i = 1; i < model->n_functions; i++)
		CHECK(model->functions[i - 1].gc_self_ns >= model->functions[i].gc_self_ns);
	for (size_t i = 1; i < model->n_types; i++)
		CHECK(model->types[i - 1].gc_ns >= model->types[i].gc_ns);
	CHECK_EQ(report_sort(model, "count"), 0);
	for (size_t i = 1; i < model->n_syscalls; i++)
		CHECK(model->syscalls[i - 1].count >= model->syscalls[i].count);
	CHECK_STR(report_order_title("live", ROWS_type, "usual"), "most live bytes first");
	CHECK_STR(report_order_title("live", ROWS_syscall, "usual"), "usual");
	CHECK_STR(report_order_title(NULL, ROWS_type, "usual"), "usual");
	model_free(model);
	synthetic_free(&app.synthetic);
}
