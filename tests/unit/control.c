// SPDX-License-Identifier: BSD-2-Clause
/* control.c: tests of how programs get to know that they are recorded, and what is asked of them.
 */
/* Plain: workers have their limits only without sanitizers. */
#include <errno.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#define STAP_SDT_ARG_CONSTRAINT nr
#include <sys/sdt.h>

#include "test.h"
#include "record/machine/clock.h"
#include "record/opener/opener.h"
#include "record/target/control.h"
#include "record/world/files.h"
#include "record/world/snapshot.h"
#include "../../gc/provider/frame.h"

#define WAIT_NS UINT64_C(10000000000)

/* This program has a control block, as those with a collector have. */
struct gcprof_control gcprof_control = {
	.magic = GCPROF_CONTROL_MAGIC,
	.version = GCPROF_CONTROL_VERSION,
	.recorded = GCPROF_RECORDED_AT_START,
};

static volatile struct gcprof_control *block(void)
{
	/* Blocks are looked for in files that have probes. */
	STAP_PROBE3(gcprof, period, (uint64_t)0, (uint64_t)0, (uint32_t)0);
	return &gcprof_control;
}

static volatile struct gcprof_request *row(void)
{
	return &block()->requests[0];
}

static struct opener *opener;
static struct files *files;
static struct control *control;
static struct event_mmap own;
static bool forbidden;

/* What the visitor was called with last. */
static struct seen {
	int calls, err;
	uint32_t was;
	uint64_t address, since;
} seen;

static void see(void *context, const struct event_mmap *mapping, uint64_t address,
		const struct control_answer *answer)
{
	(void)context;
	CHECK_EQ(mapping->inode, own.inode);
	seen.calls++;
	seen.err = answer->err;
	seen.was = answer->was;
	seen.since = answer->since;
	seen.address = address;
}

/* A program's code is mapped: it is recorded from now on. */
static void map_own(void *context, struct file *file, const struct event_mmap *event)
{
	uint64_t address;

	(void)context;
	if (!file->facts.control || !facts_locate(&file->facts, event->address, event->offset,
						  file->facts.control, &address))
		return;
	own = *event;
	CHECK_EQ(control_mapped(control, event, address, 0), forbidden ? 2 : 1);
	/* What is reported twice is asked once. */
	CHECK_EQ(control_mapped(control, event, address, 0), 0);
}

static void meet(void *context, struct event_mmap *event, const char *path)
{
	(void)context;
	event->header.process = 77;
	if (event->inode)
		files_map(files, event, path, 0);
}

static void begin(const struct control_options *options)
{
	seen = (struct seen){0};
	forbidden = options->forbidden;
	CHECK_EQ(opener_create(true, &opener), 0);
	CHECK_EQ(files_create(opener, &files), 0);
	CHECK_EQ(control_create(opener, options, &control), 0);
	control_set_visitor(control, see, NULL);
	files_set_visitor(files, map_own, NULL);
	CHECK_EQ(snapshot_mappings((uint32_t)getpid(), 0, meet, NULL), 0);
	files_settle(files, WAIT_NS);
	CHECK(opener_settle(opener, WAIT_NS));
}

static void end(void)
{
	control_free(control);
	files_set_visitor(files, NULL, NULL);
	files_free(files);
	opener_free(opener);
}

TEST(a_program_gets_a_row_and_loses_it)
{
	const struct control_options options = {.period = 12345, .ceiling = 678, .flags = 1};

	uint64_t began = clock_now();

	begin(&options);
	CHECK_EQ(control_pending(control, clock_now()), UINT64_MAX);
	CHECK(seen.calls == 1 && !seen.err && seen.was == GCPROF_RECORDED_AT_START);
	CHECK(seen.since > began && seen.since < clock_now());
	CHECK_EQ(seen.address, (uint64_t)(uintptr_t)&gcprof_control);
	CHECK_EQ(control_state(control, (uint32_t)getpid()), 1);
	CHECK_EQ(control_state(control, 1), 0);
	CHECK(row()->recorder == (uint32_t)getpid() && row()->period == 12345);
	CHECK(row()->ceiling == 678 && row()->flags == 1);
	CHECK(block()->recorded == 1 && block()->generation == 1);
	end();
	CHECK(!block()->recorded && !row()->recorder && block()->generation == 2);
	control_free(NULL);
}

TEST(a_program_is_asked_once_for_each_ceiling)
{
	begin(&(struct control_options){.period = 1});
	CHECK_EQ(row()->ceiling, 0);
	CHECK_EQ(control_ceiling(control, 1000), 1);
	CHECK(opener_settle(opener, WAIT_NS));
	CHECK(row()->ceiling == 1000 && block()->generation == 2);
	control_ceiling(control, 1000);
	CHECK(opener_settle(opener, WAIT_NS));
	CHECK_EQ(block()->generation, 2);
	/* What is wanted by the time that a request has ended comes next. */
	control_ceiling(control, 500);
	control_ceiling(control, 250);
	CHECK(opener_settle(opener, WAIT_NS));
	CHECK(row()->ceiling == 250 && row()->period == 1 && block()->recorded == 1);
	CHECK_EQ(seen.calls, 1);
	end();
}

/* A child that writes what it has once it is asked to. */
static struct process fork_reporter(int *ask, int *answer)
{
	struct process child = {.id = 78, .parent = 77};
	char byte;

	CHECK_EQ(pipe(ask) | pipe(answer), 0);
	child.pid = child.proc_pid = (uint32_t)fork();
	if (!child.pid)
		_exit(read(ask[0], &byte, 1) != 1 ||
		      write(answer[1], &gcprof_control, sizeof(gcprof_control)) !=
			      sizeof(gcprof_control));
	child.begin = clock_now();
	return child;
}

static struct gcprof_control reported(const struct process *child, int ask, int answer)
{
	struct gcprof_control copy;

	CHECK_EQ(write(ask, "", 1), 1);
	CHECK_EQ(read(answer, &copy, sizeof(copy)), (ssize_t)sizeof(copy));
	CHECK_EQ(waitpid((pid_t)child->pid, NULL, 0), (pid_t)child->pid);
	return copy;
}

static void check_child_is_left(const struct process *child, int ask, int answer)
{
	struct gcprof_control copy;

	CHECK_EQ(control_state(control, child->proc_pid), 1);
	end();
	copy = reported(child, ask, answer);
	CHECK_EQ(copy.generation, 2);
	CHECK(!copy.recorded && !copy.requests[0].recorder);
}

TEST(what_is_forbidden_is_not_written)
{
	struct gcprof_control copy;
	struct process child;
	int ask[2], answer[2];

	begin(&(struct control_options){.forbidden = true});
	CHECK(seen.calls == 1 && seen.err == -EPERM);
	child = fork_reporter(ask, answer);
	CHECK_EQ(control_forked(control, &child), 0);
	CHECK_EQ(control_state(control, (uint32_t)getpid()), -EPERM);
	CHECK_EQ(control_state(control, child.proc_pid), -EPERM);
	end();
	CHECK(!block()->generation && block()->recorded == GCPROF_RECORDED_AT_START);
	copy = reported(&child, ask[1], answer[0]);
	CHECK(!copy.generation && copy.recorded == GCPROF_RECORDED_AT_START);
}

TEST(a_program_that_is_no_more_is_left_alone)
{
	begin(&(struct control_options){.period = 1});
	/* It executed another one, whose file is mapped at the same place. */
	control_forget(control, 77, own.header.time + 1);
	CHECK_EQ(control_state(control, (uint32_t)getpid()), 0);
	CHECK_EQ(control_ceiling(control, 5), 0);
	end();
	CHECK_EQ(block()->generation, 1);
}

TEST(a_child_has_the_row_of_its_parent_until_the_recorder_leaves)
{
	struct process child;
	int ask[2], answer[2];

	begin(&(struct control_options){.period = 1});
	child = fork_reporter(ask, answer);
	CHECK_EQ(control_forked(control, &child), 0);
	CHECK(!opener_waiting(opener));
	check_child_is_left(&child, ask[1], answer[0]);
}

/* Of the blocks that a recorder takes, one user's programs have three of four at most. */
TEST(a_user_leaves_room_for_others)
{
	struct event_mmap event;
	int taken = 0;

	begin(&(struct control_options){.forbidden = true});
	event = own;
	while (taken < 100000 && control_mapped(control, &event, 4096, 1000) == 2) {
		event.header.process = 1000 + (uint32_t)taken;
		taken++;
	}
	CHECK(taken > 1000 && taken < 100000);
	event.header.process = 5;
	CHECK_EQ(control_mapped(control, &event, 4096, 1000), -ENOMEM);
	CHECK_EQ(control_mapped(control, &event, 4096, 1001), 2);
	/* What has ended leaves room for others. */
	control_forget(control, 1000, UINT64_MAX);
	control_forget(control, 1001, UINT64_MAX);
	event.header.process = 6;
	CHECK_EQ(control_mapped(control, &event, 4096, 1000), 2);
	end();
}

TEST(a_child_of_a_program_that_had_no_row_yet_gets_one)
{
	int ask[2], answer[2];
	struct process child = fork_reporter(ask, answer);

	begin(&(struct control_options){.period = 1});
	/* Its begin is read later than the answer for its parent. */
	CHECK_EQ(control_forked(control, &child), 0);
	CHECK(opener_settle(opener, WAIT_NS));
	check_child_is_left(&child, ask[1], answer[0]);
}
