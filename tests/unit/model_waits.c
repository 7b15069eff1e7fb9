/* SPDX-License-Identifier: BSD-2-Clause */
/* model_waits.c: tests of time off the CPU in the model: totals, stacks, threads, filters. */
#include "model/select/filter.h"
#include "synthetic_waits.h"

#define MS UINT64_C(1000000)

static void check_row(const struct model_wait *row, const char *name, const char *reason,
		      uint64_t count, uint64_t total_ns, uint64_t max_ns)
{
	CHECK_STR(row->name, name);
	CHECK_STR(row->reason, reason);
	CHECK_EQ(row->count, count);
	CHECK_EQ(row->total_ns, total_ns);
	CHECK_EQ(row->max_ns, max_ns);
}

/* Calls have exact totals. The rest is the difference between threads' totals and records. */
TEST(waits_add_up_by_cause)
{
	struct synthetic synthetic;
	struct model *model;

	synthetic_waits(&synthetic);
	model = synthetic_model(&synthetic);
	CHECK_EQ(model->n_waits, 4);
	check_row(&model->waits[0], "futex", "call", 1, 4000, 4000);
	check_row(&model->waits[1], "read", "call", 4, 700, 500);
	check_row(&model->waits[2], "preempted", "preempted", 1, 300, 300);
	check_row(&model->waits[3], "page fault", "fault", 3, 90, 50);
	CHECK_EQ(model->wait_ns, WAITS_ALL_NS);
	CHECK_EQ(model->wait_stack_ns, WAITS_STACK_NS);
	CHECK(is_near(find_function(model, "f")->off_cpu_self_ns, WAITS_READ_NS, 0.1));
	CHECK(is_near(find_function(model, "g")->off_cpu_ns, 4300, 0.1));
	CHECK(model->faults.known);
	CHECK_EQ(model->faults.minor, 11);
	CHECK_EQ(model->faults.major, 2);
	synthetic_close(&synthetic, model);
}

/* The kernel knows the longest wait even if it has no record. */
TEST(the_longest_wait_may_have_no_record)
{
	struct synthetic synthetic;
	struct model *model;

	synthetic_program(&synthetic, 1000);
	PUT(&synthetic, wait, .time = 3000, .thread = 1, .duration = 500, .number = 0, .flags = 1,
	    .queued = 30);
	PUT(&synthetic, wait, .time = 3050, .thread = 1, .duration = 100, .number = 0, .flags = 1,
	    .queued = 20);
	PUT(&synthetic, wait, .time = 3100, .thread = 1, .duration = 60, .reason = 2);
	PUT(&synthetic, syscall_total, .time = 9000, .process = 1, .number = 0, .count = 5,
	    .total_ns = 5000, .waits = 4, .wait_ns = 1500, .wait_max = 700);
	PUT(&synthetic, syscall_total, .time = 9000, .process = 1, .number = 1, .count = 5,
	    .total_ns = 5000, .waits = 2, .wait_ns = 200);
	PUT(&synthetic, usage, .time = 9000, .thread = 1, .flags = 1, .call_waits = 9,
	    .call_ns = 2600, .call_max = 800, .fault_waits = 3, .fault_ns = 90, .fault_max = 40,
	    .preempted_waits = 2, .preempted_ns = 140, .preempted_max = 80, .stopped_waits = 2,
	    .stopped_ns = 100);
	model = synthetic_loaded(&synthetic, 9000);
	CHECK_EQ(model->n_waits, 6);
	check_row(&model->waits[0], "read", "call", 4, 1500, 700);
	/* Longer than in any call with a row. */
	check_row(&model->waits[1], "(other system calls)", "call", 3, 900, 800);
	/* Old recorders kept no maximum: a maximum below the mean is wrong. */
	check_row(&model->waits[2], "write", "call", 2, 200, 0);
	check_row(&model->waits[3], "preempted", "preempted", 2, 140, 80);
	check_row(&model->waits[4], "stopped", "stopped", 2, 100, 0);
	check_row(&model->waits[5], "page fault", "fault", 3, 90, 40);
	CHECK_EQ(model->waits[0].queued_ns, 50);
	CHECK_EQ(model->waits[2].queued_ns, 0);
	/* Preempted threads are runnable. */
	CHECK_EQ(model->waits[3].queued_ns, 140);
	synthetic_close(&synthetic, model);
}

TEST(threads_have_their_time_off_the_cpu)
{
	struct synthetic synthetic;
	struct model *model;

	synthetic_waits(&synthetic);
	model = synthetic_model(&synthetic);
	CHECK_EQ(model->n_threads, 2);
	/* Most CPU time first. */
	CHECK_EQ(model->threads[0].tid, 101);
	CHECK_EQ(model->threads[0].wall_ns, 8000);
	CHECK_EQ(model->threads[0].off_cpu_ns, 4300);
	CHECK_EQ(model->threads[1].off_cpu_ns, 790);
	synthetic_close(&synthetic, model);
}

TEST(wakers_are_counted)
{
	struct synthetic synthetic;
	struct model *model;

	synthetic_program(&synthetic, 1000);
	for (uint64_t id = 2; id <= 4; id++)
		PUT(&synthetic, thread, .id = id, .process = 1, .tid = 99 + id);
	PUT(&synthetic, wait, .time = 3000, .thread = 1, .duration = 500, .number = 202, .flags = 1,
	    .waker = 3);
	PUT(&synthetic, wait, .time = 3100, .thread = 1, .duration = 60, .number = 202, .flags = 1,
	    .waker = 2, .held = 4, .held_ns = 1000);
	PUT(&synthetic, wait, .time = 3200, .thread = 2, .duration = 70, .number = 202, .flags = 1,
	    .waker = 3);
	PUT(&synthetic, wait, .time = 3300, .thread = 2, .duration = 80, .number = 202, .flags = 1);
	/* A thread that is not in the profile. */
	PUT(&synthetic, wait, .time = 3400, .thread = 2, .duration = 90, .number = 202, .flags = 1,
	    .waker = 9);
	model = synthetic_loaded(&synthetic, 9000);
	CHECK_EQ(model->n_wakers, 2);
	CHECK_EQ(model->wakers[0].tid, 102);
	CHECK_EQ(model->wakers[0].pid, 100);
	CHECK_EQ(model->wakers[0].count, 2);
	CHECK_EQ(model->wakers[0].total_ns, 570);
	CHECK_EQ(model->wakers[0].max_ns, 500);
	/* Excludes waits without a record: other threads may have ended them. */
	CHECK_EQ(model->wakers[1].tid, 101);
	CHECK_EQ(model->wakers[1].total_ns, 60);
	synthetic_close(&synthetic, model);
}

/* Each thread has faults after its last record, and may have no record at all. */
TEST(page_faults_without_a_record_are_counted)
{
	struct synthetic synthetic;
	struct model *model;

	synthetic_begin(&synthetic);
	PUT(&synthetic, stream, .stream = 7, .name = bytes_of("fault"), .attached = 1);
	synthetic_process(&synthetic, 1000);
	PUT(&synthetic, thread, .id = 2, .process = 1, .tid = 101);
	PUT(&synthetic, fault, .time = 2000, .thread = 1, .address = 4096, .minor = 5, .major = 1);
	PUT(&synthetic, usage, .time = 9000, .thread = 1, .minor_faults = 7, .major_faults = 4,
	    .flags = 2, .queued_ns = 600);
	PUT(&synthetic, usage, .time = 9000, .thread = 2, .minor_faults = 20, .major_faults = 1);
	model = synthetic_loaded(&synthetic, 9000);
	CHECK_EQ(model->faults.recorded, 32);
	CHECK_EQ(model->faults.recorded_major, 5);
	CHECK_EQ(model->faults.minor + model->faults.major, 32);
	/* The second thread ran on a kernel without this figure. */
	CHECK_EQ(model->cpu.queued_ns, 600);
	for (size_t i = 0; i < 2; i++) {
		CHECK_EQ(model->threads[i].queue_known, model->threads[i].tid == 100);
		CHECK_EQ(model->threads[i].queued_ns, model->threads[i].tid == 100 ? 600 : 0);
	}
	synthetic_close(&synthetic, model);
}

/* Waits and faults may get a record after a part of the usage, and only the last part tells. */
static struct model *parts_of_usage(uint64_t last_flags)
{
	struct synthetic synthetic;
	struct model *model;

	synthetic_begin(&synthetic);
	PUT(&synthetic, stream, .stream = 7, .name = bytes_of("fault"), .attached = 1);
	synthetic_process(&synthetic, 1000);
	PUT(&synthetic, usage, .time = 2000, .thread = 1, .flags = 7, .minor_faults = 7,
	    .preempted_waits = 3, .preempted_ns = 300, .preempted_max = 150, .queued_ns = 10);
	PUT(&synthetic, fault, .time = 3000, .thread = 1, .address = 4096, .minor = 5);
	PUT(&synthetic, wait, .time = 3000, .thread = 1, .reason = 2, .duration = 150);
	PUT(&synthetic, usage, .time = 4000, .thread = 1, .flags = 3 | last_flags,
	    .minor_faults = 2, .preempted_waits = 1, .preempted_ns = 90, .queued_ns = 5);
	model = synthetic_loaded(&synthetic, 9000);
	synthetic_free(&synthetic);
	return model;
}

TEST(usage_adds_up_and_ends_with_the_thread_or_the_profile)
{
	const uint64_t flags[] = {0, 4}; /* the thread goes on */

	for (int i = 0; i < 2; i++) {
		struct model *model = parts_of_usage(flags[i]);

		CHECK_EQ(model->refused, 0);
		CHECK_EQ(model->n_threads, 1);
		CHECK(model->threads[0].ended);
		CHECK_EQ(model->threads[0].wall_ns, 3000);
		CHECK_EQ(model->threads[0].minor_faults, 9);
		CHECK_EQ(model->threads[0].off_cpu_ns, 390);
		CHECK_EQ(model->threads[0].queued_ns, 15);
		CHECK_EQ(model->faults.minor, 9);
		CHECK_EQ(model->faults.recorded, 9);
		CHECK_EQ(model->n_waits, 1);
		CHECK_EQ(model->waits[0].count, 4);
		CHECK_EQ(model->waits[0].total_ns, 390);
		CHECK_EQ(model->waits[0].max_ns, 150);
		model_free(model);
	}
}

/* Finding a process and attaching to it takes time, which the thread did not spend on the CPU. */
TEST(older_threads_start_with_their_process)
{
	struct synthetic synthetic;
	struct model *model;

	synthetic_begin(&synthetic);
	PUT(&synthetic, recording, .start = 1000, .frequency = 1000, .period = 1000);
	PUT(&synthetic, process, .id = 1, .pid = 100, .time = 4000);
	PUT(&synthetic, thread, .id = 1, .process = 1, .tid = 100);
	PUT(&synthetic, thread, .id = 2, .process = 1, .tid = 101);
	PUT(&synthetic, fork, .time = 6000, .thread = 1, .child = 2);
	PUT(&synthetic, usage, .time = 9000, .thread = 1, .flags = 1, .call_waits = 1,
	    .call_ns = 5000);
	PUT(&synthetic, usage, .time = 9000, .thread = 2, .flags = 1);
	model = synthetic_loaded(&synthetic, 9000);
	CHECK_EQ(model->threads[0].wall_ns, 5000);
	CHECK_EQ(model->threads[0].off_cpu_ns, 5000);
	CHECK_EQ(model->threads[1].wall_ns, 3000);
	synthetic_close(&synthetic, model);
}

/* Number and total time of the waits that a term selects. */
static void expect(const struct synthetic *synthetic, const char *term, uint64_t count, uint64_t ns)
{
	const struct model_view view = {.frames = MODEL_FRAMES_ALL};
	struct filter filter = {.count = 0};
	struct source *sources[2];
	struct model *model = NULL;
	uint64_t found = 0;
	char fault[200];

	CHECK_EQ(filter_add(&filter, term, fault, sizeof(fault)), 0);
	for (int i = 0; i < 2; i++)
		CHECK_EQ(source_memory_open(synthetic->data, synthetic->size, &sources[i]), 0);
	CHECK_EQ(model_load_filtered(sources, "x", &filter, &view, &model), 0);
	for (size_t i = 0; i < model->n_waits; i++)
		found += model->waits[i].count;
	if (found != count || model->wait_ns != ns)
		test_fail(__FILE__, __LINE__, "%s: %" PRIu64 " waits of %" PRIu64 " ns", term,
			  found, model->wait_ns);
	/* Totals of threads cannot be divided. */
	for (size_t i = 0; i < model->n_threads; i++)
		CHECK(!model->threads[i].waits_known);
	model_free(model);
}

TEST(filters_select_waits)
{
	struct synthetic synthetic;

	synthetic_waits(&synthetic);
	expect(&synthetic, "time=..", WAITS_RECORDED, WAITS_RECORDED_NS);
	expect(&synthetic, "during=wait", WAITS_RECORDED, WAITS_RECORDED_NS);
	expect(&synthetic, "during!=wait", 0, 0);
	expect(&synthetic, "during=syscall", 4, 4600);
	expect(&synthetic, "during=syscall:read", 3, WAITS_READ_NS);
	expect(&synthetic, "during=syscall:re*|fu*", 4, 4600);
	expect(&synthetic, "reason=preempted", 1, 300);
	expect(&synthetic, "reason=fault|preempted", 2, 350);
	expect(&synthetic, "reason!=call", 2, 350);
	expect(&synthetic, "reason=stopped", 0, 0);
	expect(&synthetic, "thread=101", 2, 4300);
	expect(&synthetic, "function=f", 3, WAITS_READ_NS);
	expect(&synthetic, "phase=minor", 1, 50);
	expect(&synthetic, "time=..2900ns", 3, WAITS_READ_NS);
	expect(&synthetic, "type=x", 0, 0);
	synthetic_free(&synthetic);
}

/* A filter for waits selects only waits; one for calls' samples selects no waits. */
TEST(filters_for_waits_select_nothing_else)
{
	const struct model_view view = {.frames = MODEL_FRAMES_ALL};
	struct filter filter = {.count = 0};
	struct synthetic synthetic;
	struct source *sources[2];
	struct model *model = NULL;
	char fault[200];

	synthetic_waits(&synthetic);
	CHECK_EQ(filter_add(&filter, "during=wait", fault, sizeof(fault)), 0);
	for (int i = 0; i < 2; i++)
		CHECK_EQ(source_memory_open(synthetic.data, synthetic.size, &sources[i]), 0);
	CHECK_EQ(model_load_filtered(sources, "x", &filter, &view, &model), 0);
	CHECK_EQ(model->cpu.samples, 0);
	CHECK_EQ(model->syscall_count, 0);
	CHECK_EQ(model->gc.minor.count, 0);
	CHECK_EQ(model->stacks.samples, 3);
	synthetic_close(&synthetic, model);
}

/* Undefined threads and reasons are refused, not counted. */
TEST(invalid_waits_are_refused)
{
	struct synthetic synthetic;
	struct model *model;

	synthetic_program(&synthetic, 1000);
	PUT(&synthetic, wait, .time = 2000, .thread = 7, .duration = 10);
	PUT(&synthetic, wait, .time = 2000, .thread = 1, .duration = 10, .reason = WAIT_KINDS);
	PUT(&synthetic, wait, .time = 2000, .thread = 1, .duration = 10,
	    .reason = UINT64_C(1) << 32);
	PUT(&synthetic, usage, .time = 2000, .thread = 7, .flags = 1, .call_ns = 5);
	model = synthetic_loaded(&synthetic, 9000);
	CHECK_EQ(model->n_waits, 0);
	CHECK_EQ(model->refused, 4);
	synthetic_close(&synthetic, model);
}

/* A call that is in progress all the time ends in no tracing window, but takes time in each. */
TEST(calls_that_end_in_no_window_have_a_time)
{
	const uint64_t window = 10 * MS, gap = 90 * MS;
	const double truth = 50 * (double)window + 49 * (double)gap;
	const struct model_syscall *call;
	struct synthetic synthetic;
	struct model *model;
	uint64_t time = 1000 * MS;

	synthetic_begin(&synthetic);
	PUT(&synthetic, stream, .stream = 4, .name = bytes_of("syscall"), .attached = 1);
	synthetic_process(&synthetic, time);
	for (uint64_t i = 1; i <= 50; i++, time += gap + window) {
		PUT(&synthetic, syscall_total, .time = time + gap, .process = 1, .number = 0,
		    .total_ns = window);
		PUT(&synthetic, call_cpu, .time = time + gap, .process = 1, .traced_ns = window,
		    .untraced_ns = gap);
		PUT(&synthetic, call_window, .begin = time + gap, .end = time + gap + window);
	}
	model = synthetic_loaded(&synthetic, time);
	CHECK_EQ(model->n_syscalls, 1);
	call = &model->syscalls[0];
	CHECK_EQ(call->count, 0);
	CHECK(call->estimated);
	CHECK(is_near((double)call->total_ns, truth, truth * 0.05));
	CHECK(call->time.low <= truth && truth <= call->time.high);
	synthetic_close(&synthetic, model);
}

/* None was made in the windows. */
TEST(no_call_seen_means_an_unknown_number)
{
	struct synthetic synthetic;
	struct model *model;

	synthetic_begin(&synthetic);
	synthetic_process(&synthetic, 1 * MS);
	PUT(&synthetic, call_window, .begin = 1 * MS, .end = 2 * MS);
	PUT(&synthetic, call_window, .begin = 90 * MS, .end = 91 * MS);
	model = synthetic_loaded(&synthetic, 100 * MS);
	CHECK(model->tracing.gaps);
	CHECK(model_calls_unknown(model));
	synthetic_close(&synthetic, model);
}
