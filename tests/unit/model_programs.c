/* SPDX-License-Identifier: BSD-2-Clause */
/* model_programs.c: tests of the table of programs: grouping and sums. */
#include "synthetic.h"

static void name_thread(struct synthetic *synthetic, uint64_t thread, const char *name)
{
	PUT(synthetic, comm, .time = 1500, .thread = thread,
	    .name = synthetic_string(synthetic, name));
}

/*
 * Process 1 is "shell". Processes 2 and 3 are "tool". The first of these has a second thread with
 * another name, which comes before its own. Process 4 has no name.
 */
static void write_processes(struct synthetic *synthetic)
{
	synthetic_program(synthetic, 1000);
	PUT(synthetic, process, .id = 2, .pid = 200, .parent = 1, .time = 1100);
	PUT(synthetic, thread, .id = 2, .process = 2, .tid = 201);
	PUT(synthetic, thread, .id = 3, .process = 2, .tid = 200);
	PUT(synthetic, process, .id = 3, .pid = 300, .parent = 1, .time = 1200);
	PUT(synthetic, thread, .id = 4, .process = 3, .tid = 300);
	PUT(synthetic, process, .id = 4, .pid = 400, .parent = 1, .time = 1300);
	PUT(synthetic, thread, .id = 5, .process = 4, .tid = 400);
	name_thread(synthetic, 1, "shell");
	name_thread(synthetic, 2, "worker");
	name_thread(synthetic, 3, "tool");
	name_thread(synthetic, 4, "tool");
	for (uint64_t thread = 1; thread <= 5; thread++)
		for (uint64_t i = 0; i < thread; i++)
			PUT(synthetic, cpu, .time = 2000 + i, .thread = thread, .mode = 1);
	PUT(synthetic, alloc, .time = 2100, .thread = 4, .sample = 1, .type = 1, .size = 100,
	    .period = 1, .kind = 1);
	PUT(synthetic, gc_begin, .time = 3000, .thread = 4, .heap = 1, .cycle = 1, .kind = 1,
	    .reason = 1);
	PUT(synthetic, gc_end, .time = 3500, .thread = 4, .heap = 1, .cycle = 1, .kind = 1);
}

TEST(processes_of_one_name_are_one_program)
{
	struct synthetic synthetic;
	struct model *model;

	write_processes(&synthetic);
	model = synthetic_loaded(&synthetic, 9000);
	CHECK_EQ(model->n_programs, 3);
	CHECK_STR(model->programs[0].name, "tool");
	CHECK_EQ(model->programs[0].processes, 2);
	CHECK_EQ(model->programs[0].threads, 3);
	CHECK_EQ(model->programs[0].cpu_samples, 2 + 3 + 4);
	CHECK_EQ(model->programs[0].alloc_samples, 1);
	CHECK(is_near(model->programs[0].alloc.value, 100, 1e-6));
	CHECK_EQ(model->programs[0].pauses, 1);
	CHECK_EQ(model->programs[0].pause_ns, 500);
	CHECK_EQ(model->gc.processes, 1);
	CHECK(model->programs[1].name == NULL);
	CHECK_EQ(model->programs[1].cpu_samples, 5);
	CHECK_STR(model->programs[2].name, "shell");
	CHECK_EQ(model->programs[2].pauses, 0);
	synthetic_close(&synthetic, model);
}

static void put_total(struct synthetic *synthetic, uint64_t time, uint64_t process, uint64_t count)
{
	PUT(synthetic, syscall_total, .time = time, .process = process, .number = 0, .count = count,
	    .total_ns = count * 100);
}

static double sum_of_calls(const struct model *model)
{
	double calls = 0;

	for (size_t i = 0; i < model->n_programs; i++) {
		printf("%s: %g calls\n", model->programs[i].name, model->programs[i].syscalls);
		calls += model->programs[i].syscalls;
	}
	return calls;
}

TEST(calls_are_divided_among_programs)
{
	struct synthetic synthetic;
	struct model *model;

	write_processes(&synthetic);
	put_total(&synthetic, 4000, 1, 30);
	put_total(&synthetic, 4000, 2, 10);
	/* The third process has more records than its total says. */
	put_total(&synthetic, 4000, 3, 1);
	for (uint64_t i = 0; i < 5; i++)
		PUT(&synthetic, syscall, .time = 4100 + i, .thread = 4, .number = 0,
		    .duration = 100);
	model = synthetic_loaded(&synthetic, 9000);
	CHECK_EQ(model->syscall_count, 45);
	CHECK(is_near(sum_of_calls(model), 45, 1e-6));
	CHECK(is_near(model->programs[0].syscalls, 15, 1e-6));
	CHECK(is_near(model->programs[2].syscalls, 30, 1e-6));
	synthetic_close(&synthetic, model);
}

/*
 * Two windows of a millisecond with two milliseconds between them: the estimate is twice the
 * traced calls.
 */
TEST(estimated_calls_add_up)
{
	struct synthetic synthetic;
	struct model *model;

	write_processes(&synthetic);
	for (uint64_t i = 0; i < 8; i++) {
		uint64_t end = 2000000 + i * 3000000;

		put_total(&synthetic, end, 1, 300);
		put_total(&synthetic, end, 2, 100);
		for (uint64_t process = 1; process <= 2; process++)
			PUT(&synthetic, call_cpu, .time = end, .process = process,
			    .traced_ns = 1000000, .untraced_ns = i ? 2000000 : 0);
		PUT(&synthetic, call_window, .begin = end - 1000000, .end = end, .call_ns = 0);
	}
	model = synthetic_loaded(&synthetic, 30000000);
	printf("%" PRIu64 " calls\n", model->syscall_count);
	CHECK(model->tracing.gaps);
	CHECK(model->syscall_count > 6000);
	CHECK(is_near(sum_of_calls(model), (double)model->syscall_count, 1e-3));
	CHECK(is_near(model->programs[2].syscalls, 3 * model->programs[0].syscalls, 1e-6));
	synthetic_close(&synthetic, model);
}
