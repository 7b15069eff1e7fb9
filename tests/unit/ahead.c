/* SPDX-License-Identifier: BSD-2-Clause */
/* ahead.c: tests of what processes have mapped by now, where the profile has not come that far. */
#include "test.h"

#include <errno.h>

#include "record/world/ahead.h"

#define PARENT 1
#define CHILD  2

static struct processes *processes;

static struct process *begin(void)
{
	CHECK_EQ(processes_create(NULL, &processes), 0);
	return processes_meet(processes, PARENT, PARENT, 1);
}

/* Everything that was counted is given back. */
static void finish(void)
{
	for (uint32_t index = PARENT; index <= CHILD; index++) {
		struct process *process = processes_find(processes, index);

		if (process)
			process_over(process, 1000);
	}
	for (int seconds = 0; seconds < 100; seconds++)
		processes_sweep(processes, NULL);
	CHECK_EQ(processes_pool(processes)->used, 0);
	processes_free(processes);
}

static struct mapping mapping_of(uint64_t time, uint64_t start, uint32_t file)
{
	return (struct mapping){.start = start, .end = start + 10, .time = time, .file = file};
}

static void map(struct process *process, uint64_t time, uint64_t start, uint32_t file)
{
	struct mapping mapping = mapping_of(time, start, file);

	CHECK_EQ(ahead_map(processes, process, &mapping), 0);
}

/* The order of time has come to it; which file it is said to be. */
static uint32_t reach(struct process *process, uint64_t time, uint64_t start)
{
	struct mapping mapping = mapping_of(time, start, 0);

	mapping.file = ahead_reach(processes, process, &mapping);
	mapping.module = 1;
	CHECK_EQ(mappings_add(&process->mappings, processes_pool(processes), &mapping), 0);
	return mapping.file;
}

/* What is mapped, as a text: "start:file ...". */
static const char *view(const struct process *process)
{
	static char text[256];
	struct mappings *mappings;
	const struct mapping *all;
	size_t n, at = 0;

	text[0] = 0;
	CHECK_EQ(ahead_view(processes, process, &mappings), 0);
	all = mappings_all(mappings, &n);
	for (size_t i = 0; i < n; i++)
		at += (size_t)snprintf(text + at, sizeof(text) - at, "%s%lu:%u", i ? " " : "",
				       (unsigned long)all[i].start, all[i].file);
	mappings_release(mappings);
	return text;
}

TEST(what_is_mapped_is_known_before_and_after_its_time_has_come)
{
	struct process *process = begin();

	map(process, 20, 100, 7);
	map(process, 10, 200, 8);
	/* Of two that lie there the later one counts, whichever was reported first. */
	map(process, 15, 105, 9);
	CHECK_STR(view(process), "100:7 110:9 200:8");
	CHECK_EQ(reach(process, 10, 200), 8);
	CHECK_STR(view(process), "100:7 110:9 200:8");
	CHECK_EQ(reach(process, 15, 105), 9);
	CHECK_EQ(reach(process, 20, 100), 7);
	CHECK_STR(view(process), "100:7 110:9 200:8");
	CHECK_EQ(process->ahead.size, 0);
	/* Its report was lost. */
	CHECK_EQ(reach(process, 30, 300), 0);
	finish();
}

TEST(what_was_there_before_has_one_time)
{
	struct process *process = begin();

	for (uint32_t i = 1; i <= 4; i++)
		map(process, 10, 100 * i, i);
	map(process, 11, 900, 9);
	CHECK_EQ(reach(process, 10, 300), 3);
	for (uint32_t i = 1; i <= 4; i++)
		CHECK_EQ(i == 3 || reach(process, 10, 100 * i) == i, 1);
	CHECK_STR(view(process), "100:1 200:2 300:3 400:4 900:9");
	/* One that never comes is kept no longer than until a later one does. */
	map(process, 11, 800, 8);
	CHECK_EQ(reach(process, 12, 700), 0);
	CHECK_EQ(process->ahead.size, 0);
	finish();
}

/* Its room is given back while it goes on, and each is found where it belongs. */
TEST(a_program_that_maps_without_end_keeps_only_what_is_ahead)
{
	struct process *process = begin();
	const struct mappings_pool *pool = processes_pool(processes);

	for (uint32_t i = 1; i <= 5000; i++) {
		map(process, i, 100 * i, i);
		if (i > 10)
			CHECK_EQ(ahead_reach(processes, process,
					     &(struct mapping){.time = i - 10,
							       .start = 100 * (i - 10)}),
				 i - 10);
		CHECK(process->ahead.size <= 24 * sizeof(struct mapping));
	}
	CHECK_EQ(pool->used, 10);
	CHECK_STR(view(process), "499100:4991 499200:4992 499300:4993 499400:4994 499500:4995 "
				 "499600:4996 499700:4997 499800:4998 499900:4999 500000:5000");
	finish();
}

TEST(another_program_has_nothing_of_the_one_before)
{
	struct process *process = begin();

	map(process, 10, 100, 1);
	CHECK_EQ(reach(process, 10, 100), 1);
	map(process, 15, 200, 2);
	map(process, 25, 300, 3);
	process->program = 20;
	CHECK_STR(view(process), "300:3");
	/* The profile is still at the one before. */
	CHECK_EQ(reach(process, 15, 200), 2);
	CHECK_STR(view(process), "300:3");
	CHECK_EQ(process_exec(processes, process, 20), 0);
	CHECK_EQ(reach(process, 25, 300), 3);
	CHECK_STR(view(process), "300:3");
	finish();
}

TEST(a_child_has_what_its_parent_had_whether_the_profile_has_the_fork_or_not)
{
	struct process *parent = begin(), *child = processes_meet(processes, CHILD, CHILD, 20);

	child->parent = PARENT;
	map(parent, 10, 100, 1);
	CHECK_EQ(reach(parent, 10, 100), 1);
	map(parent, 15, 200, 2);
	map(parent, 25, 300, 3);
	map(child, 30, 400, 4);
	CHECK_STR(view(parent), "100:1 200:2 300:3");
	CHECK_STR(view(child), "100:1 200:2 400:4");
	/* It was reported late. */
	map(parent, 12, 500, 5);
	CHECK_STR(view(child), "100:1 200:2 400:4 500:5");
	CHECK_EQ(reach(parent, 12, 500), 5);
	CHECK_EQ(reach(parent, 15, 200), 2);
	child->written = true;
	process_inherit(child, parent);
	CHECK_EQ(reach(parent, 25, 300), 3);
	CHECK_STR(view(child), "100:1 200:2 400:4 500:5");
	finish();
}

/* A chain of forks that the profile does not have yet, as long as a program likes. */
TEST(chains_of_forks_end)
{
	const uint32_t length = 100000;

	begin();
	map(processes_find(processes, PARENT), 1, 100, 1);
	for (uint32_t index = PARENT + 1; index < length; index++)
		processes_meet(processes, index, index, index)->parent = index - 1;
	CHECK_STR(view(processes_find(processes, 10)), "100:1");
	CHECK_STR(view(processes_find(processes, length - 1)), "");
	processes_free(processes);
}

TEST(a_process_has_no_more_than_its_share_of_what_is_known_ahead)
{
	struct process *process = begin();
	struct mapping mapping = mapping_of(1, 100, 1);
	size_t n = 0;

	while (n <= MAPPINGS_MAX && !ahead_map(processes, process, &mapping))
		n++;
	CHECK_EQ(n, MAPPINGS_MAX);
	CHECK_EQ(ahead_map(processes, process, &mapping), -EOVERFLOW);
	finish();
}
