// SPDX-License-Identifier: BSD-2-Clause
/* sample_gate.c: tests of what programs are asked for where a recording takes too much. */
#include <unistd.h>

#include "test.h"
#include "record/sample_gate.h"
#include "../../gc/frame.h"

/* This program has a control block, as those with a collector have. */
struct gcprof_control gcprof_control = {
	.magic = GCPROF_CONTROL_MAGIC,
	.version = GCPROF_CONTROL_VERSION,
	.ceiling = 7,
};

enum { MANY = 1000 };

static volatile struct gcprof_control *block(void)
{
	return &gcprof_control;
}

TEST(half_as_many_each_time_that_it_takes_too_much_and_back_when_it_does_not)
{
	static const uint64_t expected[] = {1000, 500, 250, 125, 125, 125};
	struct sample_gate *gate;

	CHECK_EQ(sample_gate_create(&gate), 0);
	CHECK_EQ(sample_gate_ceiling(gate), 0);
	for (size_t i = 0; i < sizeof(expected) / sizeof(*expected); i++) {
		sample_gate_judge(gate, 1.5, MANY);
		CHECK_EQ(sample_gate_ceiling(gate), expected[i]);
	}
	CHECK_EQ(sample_gate_least(gate), 125);
	/* Neither too much nor little: as it is. */
	for (int i = 0; i < 20; i++)
		sample_gate_judge(gate, 0.8, MANY);
	CHECK_EQ(sample_gate_ceiling(gate), 125);
	for (uint64_t back = 250; back <= 1000; back *= 2) {
		for (int i = 0; i < 5; i++)
			sample_gate_judge(gate, 0.1, MANY);
		CHECK_EQ(sample_gate_ceiling(gate), back);
	}
	for (int i = 0; i < 5; i++)
		sample_gate_judge(gate, 0.1, MANY);
	CHECK_EQ(sample_gate_ceiling(gate), 0);
	CHECK_EQ(sample_gate_least(gate), 125);
	sample_gate_free(gate);
}

TEST(where_few_samples_come_they_are_not_what_takes_too_much)
{
	struct sample_gate *gate;

	CHECK_EQ(sample_gate_create(&gate), 0);
	for (int i = 0; i < 10; i++)
		sample_gate_judge(gate, 5, 20);
	CHECK_EQ(sample_gate_ceiling(gate), 0);
	CHECK_EQ(sample_gate_least(gate), 0);
	sample_gate_free(gate);
}

TEST(programs_are_asked_whether_they_came_before_or_later_and_set_back)
{
	struct sample_gate *gate;

	CHECK_EQ(sample_gate_create(&gate), 0);
	sample_gate_judge(gate, 2, MANY);
	CHECK_EQ(block()->generation, 0);
	sample_gate_meet(gate, (uint32_t)getpid());
	CHECK_EQ(block()->ceiling, 1000);
	CHECK_EQ(block()->generation, 1);
	/* Another heap begins to sample: nothing new. */
	sample_gate_meet(gate, (uint32_t)getpid());
	CHECK_EQ(block()->generation, 1);
	sample_gate_judge(gate, 2, MANY);
	CHECK_EQ(block()->ceiling, 500);
	CHECK_EQ(block()->generation, 2);
	sample_gate_free(gate);
	CHECK_EQ(block()->ceiling, 7);
	CHECK_EQ(block()->period, 0);
	CHECK_EQ(block()->generation, 0);
}

TEST(what_the_program_changed_itself_is_left_alone)
{
	struct sample_gate *gate;

	CHECK_EQ(sample_gate_create(&gate), 0);
	sample_gate_meet(gate, (uint32_t)getpid());
	sample_gate_judge(gate, 2, MANY);
	CHECK_EQ(block()->ceiling, 1000);
	block()->ceiling = 33;
	block()->generation++;
	sample_gate_free(gate);
	CHECK_EQ(block()->ceiling, 33);
}

TEST(processes_that_are_gone_or_never_were_do_no_harm)
{
	struct sample_gate *gate;

	CHECK_EQ(sample_gate_create(&gate), 0);
	for (uint32_t i = 0; i < 3000; i++)
		sample_gate_meet(gate, UINT32_MAX - i);
	sample_gate_judge(gate, 2, MANY);
	CHECK_EQ(sample_gate_ceiling(gate), 1000);
	sample_gate_free(gate);
	sample_gate_free(NULL);
}
