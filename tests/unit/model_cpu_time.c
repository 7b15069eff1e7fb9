/* SPDX-License-Identifier: BSD-2-Clause */
/* model_cpu_time.c: tests of exact CPU time, and of the time without timer samples. */
#include "synthetic.h"
#include "model/select/filter.h"
#include "model/world/timeline.h"

#define MS UINT64_C(1000000) /* one tick at 1000 Hz */

/* Thread 1 has as many ticks as expected, thread 2 none, thread 3 every third. */
static void write_threads(struct synthetic *synthetic)
{
	uint64_t f, g;

	synthetic_begin(synthetic);
	synthetic_process(synthetic, 1 * MS);
	PUT(synthetic, process, .id = 2, .pid = 200, .parent = 1, .time = 1 * MS);
	for (uint64_t thread = 2; thread <= 3; thread++)
		PUT(synthetic, thread, .id = thread, .process = 2, .tid = 198 + thread);
	f = synthetic_stack(synthetic,
			    (uint64_t[]){synthetic_function(synthetic, "/f", 16, "f"), 0});
	g = synthetic_stack(synthetic,
			    (uint64_t[]){synthetic_function(synthetic, "/g", 16, "g"), 0});
	for (uint64_t i = 1; i <= 300; i++) {
		profile_writer_ran(synthetic->writer, 1, (int64_t)MS * 101 / 100, 1);
		PUT(synthetic, cpu, .time = i * MS, .thread = 1, .stack = f, .mode = 1);
		profile_writer_ran(synthetic->writer, 3, 3 * (int64_t)MS, 1);
		PUT(synthetic, cpu, .time = i * MS, .thread = 3, .stack = g, .mode = 2);
		/* Chunks end when they are full, or every second. */
		if (i % 100 == 0)
			profile_writer_flush(synthetic->writer);
	}
	profile_writer_ran(synthetic->writer, 2, (int64_t)MS / 2, 0);
	synthetic_end(synthetic, 301 * MS);
}

static const struct model_thread *thread_of(const struct model *model, uint64_t tid)
{
	for (size_t i = 0; i < model->n_threads; i++)
		if (model->threads[i].tid == tid)
			return &model->threads[i];
	abort();
}

static double functions_sum(const struct model *model)
{
	double sum = 0;

	for (size_t i = 0; i < model->n_functions; i++)
		sum += model->functions[i].cpu_self_ns;
	return sum;
}

static uint64_t timeline_sum(const struct model *model)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < model->timeline->count; i++)
		sum += model->timeline->windows[i].cpu_ns;
	return sum;
}

TEST(cpu_totals_are_exact_and_divided_by_samples)
{
	struct synthetic synthetic;
	struct model *model;

	write_threads(&synthetic);
	model = synthetic_model(&synthetic);
	CHECK(model->cpu.exact);
	CHECK_EQ(model->cpu.on_cpu_ns, 303 * MS + 900 * MS + MS / 2);
	CHECK(is_near(thread_of(model, 100)->cpu_ns, 303e6, 1));
	CHECK(is_near(thread_of(model, 200)->cpu_ns, 0.5e6, 1));
	CHECK(is_near(thread_of(model, 201)->cpu_ns, 900e6, 1));
	CHECK_EQ(model->n_programs, 1);
	CHECK(is_near(model->programs[0].cpu_ns, 1203.5e6, 1));
	/* Scaled: one sample in a hundred is missing by chance. */
	CHECK(is_near(find_function(model, "f")->cpu_self_ns, 303e6, 1));
	/* Not scaled: two of three ticks are missing. */
	CHECK(is_near(find_function(model, "g")->cpu_self_ns, 300e6, 1));
	CHECK(is_near(find_function(model, "(no samples)")->cpu_self_ns, 600.5e6, 1));
	CHECK_EQ(model->cpu.no_samples_ns, 600 * MS + MS / 2);
	CHECK_EQ(model->cpu.user_ns, 303 * MS);
	CHECK_EQ(model->cpu.kernel_ns, 300 * MS);
	CHECK(is_near(functions_sum(model), (double)model->cpu.on_cpu_ns, 1));
	CHECK_EQ(timeline_sum(model), model->cpu.on_cpu_ns);
	/*
	 * The rest of a chunk is spread over that chunk: each third of the time has a third of
	 * it.
	 */
	CHECK(model->timeline->windows[50 * MS / model->timeline->step_ns].cpu_ns >
	      3 * model->timeline->step_ns);
	synthetic_close(&synthetic, model);
}

TEST(time_whose_samples_come_in_the_next_chunk_stands_once_in_the_timeline)
{
	struct synthetic synthetic;
	struct model *model;

	synthetic_begin(&synthetic);
	synthetic_process(&synthetic, 1 * MS);
	profile_writer_ran(synthetic.writer, 1, 7 * (int64_t)MS, 0);
	profile_writer_flush(synthetic.writer);
	for (uint64_t i = 0; i < 7; i++) {
		profile_writer_ran(synthetic.writer, 1, 0, 1);
		PUT(&synthetic, cpu, .time = 20 * MS + i * MS, .thread = 1, .mode = 1);
	}
	profile_writer_flush(synthetic.writer);
	model = synthetic_loaded(&synthetic, 30 * MS);
	CHECK_EQ(model->cpu.on_cpu_ns, 7 * MS);
	CHECK(model->cpu.no_samples_ns < MS);
	CHECK_EQ(timeline_sum(model), model->cpu.on_cpu_ns);
	synthetic_close(&synthetic, model);
}

static struct model *filtered(const struct synthetic *synthetic, const char *text)
{
	struct filter filter = {0};
	struct model_view view = {.observer = NULL};
	struct source *sources[2];
	struct model *model;
	char reason[256];

	CHECK_EQ(filter_add(&filter, text, reason, sizeof(reason)), 0);
	for (int i = 0; i < 2; i++)
		CHECK_EQ(source_memory_open(synthetic->data, synthetic->size, &sources[i]), 0);
	CHECK_EQ(model_load_filtered(sources, "test", &filter, &view, &model), 0);
	return model;
}

TEST(filtered_threads_and_processes_have_exact_time)
{
	struct synthetic synthetic;
	struct model *model;

	write_threads(&synthetic);
	model = filtered(&synthetic, "thread=201");
	CHECK_EQ(model->cpu.on_cpu_ns, 900 * MS);
	CHECK_EQ(model->cpu.no_samples_ns, 600 * MS);
	model_free(model);
	model = filtered(&synthetic, "process!=200");
	CHECK_EQ(model->cpu.on_cpu_ns, 303 * MS);
	CHECK_EQ(model->cpu.no_samples_ns, 0);
	model_free(model);
	/* The function and time of the rest are unknown. */
	model = filtered(&synthetic, "time=0..150ms");
	CHECK(model->cpu.on_cpu_ns > 290 * MS && model->cpu.on_cpu_ns < 310 * MS);
	CHECK_EQ(model->cpu.no_samples_ns, 0);
	CHECK(thread_of(model, 201)->cpu_ns < 152e6);
	synthetic_close(&synthetic, model);
}

TEST(without_scheduler_accounting_ticks_count)
{
	struct synthetic synthetic;
	struct model *model;

	synthetic_begin(&synthetic);
	synthetic_process(&synthetic, 1 * MS);
	for (uint64_t i = 1; i <= 10; i++)
		PUT(&synthetic, cpu, .time = i * MS, .thread = 1, .mode = 1,
		    .ticks = i % 2 ? 0 : 4);
	model = synthetic_loaded(&synthetic, 11 * MS);
	CHECK(!model->cpu.exact);
	CHECK_EQ(model->cpu.on_cpu_ns, 25 * MS);
	CHECK(is_near(thread_of(model, 100)->cpu_ns, 25e6, 1));
	CHECK_EQ(model->cpu.no_samples_ns, 0);
	CHECK_EQ(model->n_functions, 1);
	CHECK(is_near(functions_sum(model), 25e6, 1));
	synthetic_close(&synthetic, model);
}
