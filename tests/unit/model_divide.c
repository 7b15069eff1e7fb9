/* SPDX-License-Identifier: BSD-2-Clause */
/* model_divide.c: tests of how many system calls a filter selects. */
#include <math.h>

#include "model/select/filter.h"
#include "synthetic.h"

enum { READ = 0, WRITE = 1, GETPID = 39, SEEDS = 200 };

/* A recording of two processes with two threads each, whose calls are recorded at random. */
struct divided {
	struct synthetic synthetic;
	uint64_t random;
	uint64_t time;                  /* ns */
	uint64_t count[3], total_ns[3]; /* by process */
};

static void divided_begin(struct divided *divided, uint64_t seed)
{
	*divided = (struct divided){.random = seed, .time = 1000};
	synthetic_program(&divided->synthetic, 0);
	PUT(&divided->synthetic, process, .id = 2, .pid = 200, .time = 1);
	PUT(&divided->synthetic, thread, .id = 2, .process = 1, .tid = 101);
	PUT(&divided->synthetic, thread, .id = 3, .process = 2, .tid = 200);
	PUT(&divided->synthetic, thread, .id = 4, .process = 2, .tid = 201);
}

/* A call; one of `stands` calls gets a record, at random. */
static void call(struct divided *divided, uint64_t thread, uint64_t number, uint64_t ns,
		 uint64_t stands)
{
	divided->time += 1000;
	divided->count[(thread + 1) / 2]++;
	divided->total_ns[(thread + 1) / 2] += ns;
	if (stands > 1 && test_random(&divided->random) % stands)
		return;
	PUT(&divided->synthetic, syscall, .time = divided->time, .thread = thread, .number = number,
	    .duration = ns, .stands = stands);
}

static void divided_end(struct divided *divided, uint64_t number)
{
	for (uint64_t process = 1; process <= 2; process++)
		if (divided->count[process])
			PUT(&divided->synthetic, syscall_total, .time = divided->time,
			    .process = process, .number = number, .count = divided->count[process],
			    .total_ns = divided->total_ns[process]);
	synthetic_end(&divided->synthetic, divided->time);
}

static struct model *divided_select(const struct divided *divided, const char *terms)
{
	const struct model_view view = {.frames = MODEL_FRAMES_ALL};
	struct filter filter = {.count = 0};
	struct source *sources[2];
	struct model *model = NULL;
	char fault[200];

	CHECK_EQ(filter_add(&filter, terms, fault, sizeof(fault)), 0);
	for (int i = 0; i < 2; i++)
		CHECK_EQ(source_memory_open(divided->synthetic.data, divided->synthetic.size,
					    &sources[i]),
			 0);
	CHECK_EQ(model_load_filtered(sources, "x", &filter, &view, &model), 0);
	return model;
}

static bool holds(const struct estimate *estimate, double truth)
{
	return estimate->low <= truth && truth <= estimate->high;
}

/*
 * One of 1, 2, 4 ... 64 calls gets a record, as their rate changes, for 20000 calls. A share of
 * them is selected.
 */
static unsigned count_holding(double share, const char *terms)
{
	unsigned holding = 0;

	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		struct divided divided;
		struct model *model;
		double truth = 0, truth_ns = 0;

		divided_begin(&divided, seed);
		for (int i = 0; i < 20000; i++) {
			bool selected = (double)(test_random(&divided.random) % 10000) <
					share * 1e4;
			uint64_t ns = 1000 + test_random(&divided.random) % 4000;

			call(&divided, selected ? 2 : 1, READ, ns, UINT64_C(1) << (i / 3000));
			truth += selected;
			truth_ns += selected ? (double)ns : 0;
		}
		divided_end(&divided, READ);
		model = divided_select(&divided, terms);
		CHECK_EQ(model->n_syscalls, 1);
		CHECK(model->syscalls[0].estimated);
		CHECK(model->syscalls[0].traced_count <= model->syscalls[0].count);
		holding += holds(&model->syscalls[0].calls, truth) &&
			   holds(&model->tracing.count, truth) &&
			   holds(&model->syscalls[0].time, truth_ns);
		synthetic_close(&divided.synthetic, model);
	}
	printf("%u of %d intervals hold the truth\n", holding, SEEDS);
	return holding;
}

/* Both intervals, for count and time, must hold; each does in 95 of 100 cases. */
TEST(selection_intervals_hold)
{
	CHECK(count_holding(0.5, "thread=101") >= SEEDS * 91 / 100);
	CHECK(count_holding(0.03, "thread=101") >= SEEDS * 91 / 100);
	CHECK(count_holding(0.97, "thread=101") >= SEEDS * 91 / 100);
}

/* Records of one part have a greater weight than those of the other. */
TEST(a_time_range_gets_its_share)
{
	struct divided divided;
	struct model *model;

	divided_begin(&divided, 7);
	for (int i = 0; i < 40000; i++)
		call(&divided, 1, READ, 100, i < 20000 ? 1 : 64);
	divided_end(&divided, READ);
	model = divided_select(&divided, "time=20002us..");
	CHECK(is_near((double)model->syscalls[0].count, 20000, 4000));
	CHECK(holds(&model->syscalls[0].calls, 20000));
	CHECK(model->syscalls[0].calls.high - model->syscalls[0].calls.low < 8000);
	synthetic_close(&divided.synthetic, model);
}

TEST(filters_by_process_or_call_are_exact)
{
	static const char *const terms[] = {"process=200", "process!=100", "during=syscall:getpid",
					    "process=100|200", "type!=x"};

	for (int i = 0; i < 5; i++) {
		struct divided divided;
		struct model *model;
		uint64_t all;

		divided_begin(&divided, 1);
		for (int j = 0; j < 5000; j++)
			call(&divided, 1 + (uint64_t)(j % 3), GETPID, 100, 16);
		divided_end(&divided, GETPID);
		all = i < 2 ? divided.count[2] : 5000;
		model = divided_select(&divided, terms[i]);
		CHECK_EQ(model->n_syscalls, 1);
		CHECK_EQ(model->syscalls[0].count, all);
		CHECK_EQ(model->syscalls[0].total_ns, all * 100);
		CHECK(!model->syscalls[0].estimated && !model->tracing.estimated);
		model_free(model);
		model = divided_select(&divided, "during=syscall:read");
		CHECK_EQ(model->n_syscalls, 0);
		CHECK(model->calls_left_out == 0);
		synthetic_close(&divided.synthetic, model);
	}
}

TEST(selections_are_exact_if_all_calls_were_recorded)
{
	struct divided divided;
	struct model *model;

	divided_begin(&divided, 1);
	for (int i = 0; i < 300; i++)
		call(&divided, 1 + (uint64_t)(i % 4), READ, 10, i % 2);
	divided_end(&divided, READ);
	model = divided_select(&divided, "thread=101");
	CHECK_EQ(model->syscalls[0].count, 75);
	CHECK_EQ(model->syscalls[0].total_ns, 750);
	CHECK(!model->syscalls[0].estimated);
	synthetic_close(&divided.synthetic, model);
}

/* As in profiles without random recording, or if short calls are not recorded. */
TEST(records_without_weights_are_not_counted)
{
	struct divided divided;
	struct model *model;

	divided_begin(&divided, 1);
	for (int i = 0; i < 300; i++)
		call(&divided, 1 + (uint64_t)(i % 2), READ, 10, 0);
	divided.count[1] = 100000;
	divided_end(&divided, READ);
	model = divided_select(&divided, "thread=101");
	CHECK_EQ(model->n_syscalls, 0);
	CHECK_EQ(model->syscall_count, 0);
	CHECK(model->calls_left_out == 100000);
	CHECK(!model->calls_untraced);
	model_free(model);
	/* But their process is known. */
	model = divided_select(&divided, "process=100");
	CHECK_EQ(model->syscalls[0].count, 100000);
	CHECK(model->calls_left_out == 0);
	synthetic_close(&divided.synthetic, model);
}

/* A process without any record of a call is treated like the others. */
TEST(calls_without_records_use_other_processes_share)
{
	struct divided divided;
	struct model *model;

	divided_begin(&divided, 1);
	for (int i = 0; i < 10000; i++)
		call(&divided, 1 + (uint64_t)(i % 2), READ, 10, 2);
	divided.count[2] = 100;
	divided_end(&divided, READ);
	model = divided_select(&divided, "thread=100|200");
	CHECK(holds(&model->syscalls[0].calls, 5050));
	CHECK(is_near(model->syscalls[0].calls.value, 5050, 300));
	synthetic_close(&divided.synthetic, model);
}

/* Their function is unknown, and the report says how many there are. */
TEST(calls_without_a_stack_are_counted_apart)
{
	struct divided divided;
	struct model *model;

	divided_begin(&divided, 1);
	for (int i = 0; i < 1000; i++)
		call(&divided, 1, READ, 500, 10);
	divided_end(&divided, READ);
	model = divided_select(&divided, "function=main");
	CHECK(fabs(model->calls_stackless - 1000) < 1);
	model_free(model);
	model = divided_select(&divided, "function!=main");
	CHECK(model->calls_stackless == 0);
	model_free(model);
	model = divided_select(&divided, "thread=101");
	CHECK(model->calls_stackless == 0);
	synthetic_close(&divided.synthetic, model);
}

/* Weighted records give the time of all calls, also without a filter. */
TEST(stacks_have_the_weighted_time_of_their_calls)
{
	struct divided divided;
	struct model *model;
	uint64_t stack;

	divided_begin(&divided, 1);
	stack = synthetic_stack(
		&divided.synthetic,
		(uint64_t[]){synthetic_function(&divided.synthetic, "/bin/app", 1, "f"), 0});
	PUT(&divided.synthetic, syscall, .time = 2000, .thread = 1, .number = READ, .duration = 500,
	    .stack = stack, .stands = 8);
	PUT(&divided.synthetic, syscall, .time = 3000, .thread = 1, .number = READ, .duration = 20,
	    .stack = stack);
	divided.time = 3000;
	divided_end(&divided, READ);
	model = synthetic_model(&divided.synthetic);
	CHECK_EQ(model->syscall_stack_ns, 8 * 500 + 20);
	CHECK_EQ(model->functions[0].syscall_ns, 8 * 500 + 20);
	synthetic_close(&divided.synthetic, model);
}
