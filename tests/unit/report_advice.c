/* SPDX-License-Identifier: BSD-2-Clause */
/* report_advice.c: tests of what is said of a recording: each rule speaks when it should, and not
 * else. */
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

TEST(a_recording_without_faults_gets_no_advice)
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

TEST(processes_that_were_started_before_are_missing)
{
	struct model model = calm();

	model.run.children = "1";
	CHECK(says(&model, "children", "1 process that the recorded ones had started before is"));
	CHECK(strstr(remedy, "--cgroup"));
	model.run.children = "0";
	CHECK(!says(&model, "children", ""));
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
	struct model_loss losses[2] = {{.name = "GC_RING",
					.stream = "gc",
					.count = 657,
					.unit = "milliseconds",
					.text = "milliseconds passed",
					.severity_code = SEVERITY_GAP},
				       {.name = "ALLOC_RING",
					.stream = "alloc",
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
	model.stacks.guessed_early = 140;
	CHECK(says(&model, "guessed_stacks", "most of them in the first 2 s"));
	CHECK_STR(remedy, "");
	model.stacks.guessed_early = 0;
	model.stacks.guessed_generated = 140;
	CHECK(says(&model, "guessed_stacks", "which was made at run time"));
	CHECK_STR(remedy, "");
	model.stacks.reasons[REASON_USER_GUESSED] = 200;
	CHECK(!says(&model, "unfinished_stacks", ""));
	model.alloc.samples = 12;
	CHECK(says(&model, "few_samples", "Only 12 allocations"));
	model.alloc.samples = 0;
	CHECK(!says(&model, "few_samples", ""));
}

/* The order that was asked for, in every table that knows it. */
TEST(tables_are_sorted_as_asked_for)
{
	struct app app;
	struct model *model;

	synthetic_app(&app, 60, false);
	model = synthetic_loaded(&app.synthetic, app.time + 1000);
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
		CHECK(model->types[i - 1].gc_ns.value >= model->types[i].gc_ns.value);
	CHECK_EQ(report_sort(model, "count"), 0);
	for (size_t i = 1; i < model->n_syscalls; i++)
		CHECK(model->syscalls[i - 1].count >= model->syscalls[i].count);
	CHECK_STR(report_order_title("live", ROWS_type, "usual"), "most live bytes first");
	CHECK_STR(report_order_title("live", ROWS_syscall, "usual"), "usual");
	CHECK_STR(report_order_title(NULL, ROWS_type, "usual"), "usual");
	synthetic_close(&app.synthetic, model);
}
