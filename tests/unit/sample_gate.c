// SPDX-License-Identifier: BSD-2-Clause
/* sample_gate.c: tests of what programs are asked for where a recording takes too much. */
#include <unistd.h>

#define STAP_SDT_ARG_CONSTRAINT nr
#include <sys/sdt.h>

#include "test.h"
#include "record/machine/clock.h"
#include "record/target/control_search.h"
#include "record/world/files.h"
#include "record/opener/opener.h"
#include "record/throttle/sample_gate.h"
#include "record/world/processes.h"
#include "../../gc/frame.h"

/* This program has a control block, as those with a collector have. */
struct gcprof_control gcprof_control = {
	.magic = GCPROF_CONTROL_MAGIC,
	.version = GCPROF_CONTROL_VERSION,
	.ceiling = 7,
};

static volatile struct gcprof_control *block(void)
{
	/* Blocks are looked for in files that have probes. */
	STAP_PROBE3(gcprof, period, (uint64_t)0, (uint64_t)0, (uint32_t)0);
	return &gcprof_control;
}

static struct opener *opener;

static struct files *files;

static struct processes *processes;

static void ignore(void *context, const struct event_mmap *mapping, uint64_t address)
{
	(void)context;
	(void)mapping;
	(void)address;
}

static void begin(void)
{
	CHECK_EQ(opener_create(true, &opener), 0);
	CHECK_EQ(files_create(opener, &files), 0);
	CHECK_EQ(processes_create(NULL, &processes), 0);
	/* What a program that takes samples has mapped is known. */
	CHECK_EQ(control_search(files, (uint32_t)getpid(), clock_now() + 3000000000u, BLOCK_CONTROL,
				ignore, NULL),
		 0);
}

static void end(struct sample_gate *gate)
{
	sample_gate_free(gate);
	processes_free(processes);
	files_free(files);
	opener_free(opener);
}

/* A process takes samples: the gate is notified, as by the world. */
static void meet(struct sample_gate *gate, uint32_t pid)
{
	const struct process_ids ids = {pid, pid, pid};

	CHECK(processes_begin(processes, pid, &ids, 1) >= 0);
	processes_find(processes, pid)->samples = true;
	sample_gate_meet(gate, pid);
}

/* What programs are asked for is asked by now. */
static void settle(void)
{
	CHECK(opener_settle(opener, UINT64_C(10000000000)));
}

TEST(half_as_many_for_each_step)
{
	struct sample_gate *gate;

	begin();
	CHECK_EQ(sample_gate_create(files, processes, &gate), 0);
	CHECK_EQ(sample_gate_ceiling(gate), 0);
	CHECK_EQ(sample_gate_least(gate), 0);
	for (unsigned step = 1; step <= SAMPLE_GATE_STEPS; step++) {
		CHECK_EQ(sample_gate_set(gate, step), 0);
		CHECK_EQ(sample_gate_ceiling(gate), 2000 >> step);
	}
	sample_gate_set(gate, 1);
	CHECK_EQ(sample_gate_ceiling(gate), 1000);
	sample_gate_set(gate, 0);
	CHECK_EQ(sample_gate_ceiling(gate), 0);
	CHECK_EQ(sample_gate_least(gate), 125);
	end(gate);
}

TEST(programs_are_asked_whether_they_came_before_or_later_and_set_back)
{
	struct sample_gate *gate;

	begin();
	CHECK_EQ(sample_gate_create(files, processes, &gate), 0);
	sample_gate_set(gate, 1);
	CHECK_EQ(block()->generation, 0);
	meet(gate, (uint32_t)getpid());
	settle();
	CHECK_EQ(block()->ceiling, 1000);
	CHECK_EQ(block()->generation, 1);
	/* Another heap begins to sample: nothing new. */
	meet(gate, (uint32_t)getpid());
	settle();
	CHECK_EQ(block()->generation, 1);
	sample_gate_set(gate, 2);
	settle();
	CHECK_EQ(block()->ceiling, 500);
	CHECK_EQ(block()->generation, 2);
	end(gate);
	CHECK_EQ(block()->ceiling, 7);
	CHECK_EQ(block()->period, 0);
	CHECK_EQ(block()->generation, 0);
}

TEST(what_the_program_changed_itself_is_left_alone)
{
	struct sample_gate *gate;

	begin();
	CHECK_EQ(sample_gate_create(files, processes, &gate), 0);
	meet(gate, (uint32_t)getpid());
	sample_gate_set(gate, 1);
	settle();
	CHECK_EQ(block()->ceiling, 1000);
	block()->ceiling = 33;
	block()->generation++;
	end(gate);
	CHECK_EQ(block()->ceiling, 33);
}

TEST(processes_that_are_gone_or_never_were_do_no_harm)
{
	struct sample_gate *gate;

	begin();
	CHECK_EQ(sample_gate_create(files, processes, &gate), 0);
	for (uint32_t i = 0; i < 3000; i++)
		meet(gate, UINT32_MAX - i);
	sample_gate_set(gate, 1);
	CHECK_EQ(sample_gate_ceiling(gate), 1000);
	end(gate);
	sample_gate_free(NULL);
}
