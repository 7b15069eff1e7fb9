// SPDX-License-Identifier: BSD-2-Clause
/* gc_control.c: tests of the control block: who is recorded, and what recorders ask for together.
 */
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "control_rows.h"
#include "test.h"

static struct gcprof_provider *provider;
static struct gcprof_thread *thread;

static void begin(void)
{
	const struct gcprof_options options = {
		.period = 1000, .ceiling = UINT64_MAX, .fixed_stride = GCPROF_STRIDE_FIXED};

	CHECK_EQ(gcprof_open(&options, &provider), 0);
	CHECK_EQ(gcprof_thread_attach(provider, NULL, &thread), 0);
}

static void end(void)
{
	gcprof_thread_detach(thread);
	gcprof_close(provider);
}

/* Samples that a MiB of objects gives. */
static uint64_t allocate(void)
{
	uint64_t samples = 0;

	for (int i = 0; i < 16384; i++)
		samples += gcprof_alloc(thread, 64, 1, GCPROF_SAMPLE_FOREIGN) != 0;
	return samples;
}

TEST(the_recorder_that_wants_most_has_its_way_until_it_leaves)
{
	static const struct {
		int row;
		bool leaves;
		uint64_t period, in_force;
	} steps[] = {{2, false, 5000, 1000}, {7, true, 0, 5000},    {0, false, 300, 300},
		     {5, false, 0, 300},     {2, false, 7000, 300}, {0, true, 0, 1000},
		     {5, true, 0, 7000},     {1, false, 40, 40},    {2, true, 0, 40},
		     {3, false, 9000, 40},   {1, true, 0, 9000},    {7, false, 0, 1000},
		     {3, true, 0, 1000}};

	gcprof_sample_semaphore = 1;
	begin();
	row_ask(7, 0);
	for (size_t i = 0; i < sizeof(steps) / sizeof(*steps); i++) {
		if (steps[i].leaves)
			row_leave(steps[i].row);
		else
			row_ask(steps[i].row, steps[i].period);
		allocate();
		CHECK_EQ(provider->period, steps[i].in_force);
	}
	end();
}

TEST(the_highest_ceiling_holds_whoever_asks_last)
{
	static const struct {
		uint64_t ceilings[2], in_force;
	} pairs[] = {{{125, 300}, 300}, {{300, 125}, 300}, {{125, UINT64_MAX}, UINT64_MAX},
		     {{0, 125}, 2000},  {{125, 0}, 2000},  {{0, 9000}, 9000}};

	gcprof_sample_semaphore = 1;
	begin();
	provider->options.ceiling = 2000;
	for (size_t i = 0; i < sizeof(pairs) / sizeof(*pairs); i++) {
		for (int row = 0; row < 2; row++) {
			row_ask(row, 1000 + i);
			gcprof_control.requests[row].ceiling = pairs[i].ceilings[row];
		}
		allocate();
		CHECK_EQ(provider->ceiling, pairs[i].in_force);
	}
	end();
}

/* Other processes may have mapped the file whose semaphore it is. */
TEST(only_a_process_that_is_recorded_samples)
{
	begin();
	gcprof_sample_semaphore = 1;
	CHECK_EQ(allocate(), 0);
	row_ask(3, 0);
	CHECK(allocate() > 900);
	row_leave(3);
	gcprof_control.recorded = 0;
	allocate();
	CHECK_EQ(allocate(), 0);
	/* A recorder that has no probes attached is none. */
	row_ask(3, 0);
	gcprof_sample_semaphore = 0;
	CHECK_EQ(allocate(), 0);
	end();
}

/* As a program of its own: the environment is read before main(). */
static uint32_t recorded_in(const char *value)
{
	char command[4096 + 64], path[4096] = "";
	int status;

	CHECK(readlink("/proc/self/exe", path, sizeof(path) - 1) > 0);
	snprintf(command, sizeof(command), "GCPROF_RECORD=%s CONTROL_CHILD=1 '%s' >/dev/null",
		 value, path);
	status = system(command);
	CHECK(WIFEXITED(status));
	return (uint32_t)WEXITSTATUS(status);
}

/* Before the tests, and after what it tests. */
__attribute__((constructor)) static void be_child(void)
{
	if (getenv("CONTROL_CHILD"))
		_exit(gcprof_control.recorded == GCPROF_RECORDED_AT_START
			      ? 11
			      : (int)(gcprof_control.recorded & 1) + 12);
}

TEST(the_environment_says_that_a_program_is_recorded_from_its_start)
{
	CHECK_EQ(recorded_in("1"), 11);
	CHECK_EQ(recorded_in("0"), 12);
	CHECK_EQ(recorded_in(""), 12);
	/* Until a recorder has written. */
	gcprof_control.recorded = GCPROF_RECORDED_AT_START;
	gcprof_sample_semaphore = 1;
	begin();
	CHECK(allocate() > 900);
	end();
}

TEST(a_child_is_recorded_if_its_parent_is)
{
	int status = -1;
	pid_t child;

	gcprof_sample_semaphore = 1;
	begin();
	row_ask(0, 500);
	child = fork();
	if (!child)
		_exit(allocate() < 1800);
	CHECK_EQ(waitpid(child, &status, 0), child);
	CHECK_EQ(status, 0);
	end();
}
