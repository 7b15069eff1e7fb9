// SPDX-License-Identifier: BSD-2-Clause
/* store_waits.c: tests of the store with waits and ticks made by hand: stacks, and system calls. */
#include "store_rig.h"

/* A wait of 100 ns that ends now, with one kernel frame. */
static void send_wait(uint64_t kernel)
{
	struct event_wait *wait = event(EVENT_wait, sizeof(*wait) + sizeof(kernel), 1, 100);

	wait->stack = (struct event_stack){.n_kernel = 1};
	wait->ended = rig.clock;
	wait->duration = 100;
	wait->reason = WAIT_PREEMPTED;
	wait->flags = WAIT_LEFT;
	memcpy(wait + 1, &kernel, sizeof(kernel));
	CHECK_EQ(send_event(), 0);
}

static void send_leave(uint64_t ip)
{
	struct event_leave *leave =
		event(EVENT_leave, sizeof(*leave) + sizeof(struct event_native), 1, 100);

	leave->stack = (struct event_stack){.n_user = 1, .quality = STACK_USER_END};
	memcpy(leave + 1, &ip, sizeof(ip));
	CHECK_EQ(send_event(), 0);
}

TEST(what_of_a_wait_was_for_a_cpu_is_a_part_of_it)
{
	static const struct {
		uint32_t reason;
		uint64_t queued, stored;
	} cases[] = {{WAIT_CALL, 40, 40},
		     {WAIT_CALL, 100, 100},
		     {WAIT_CALL, 101, 0},
		     {WAIT_CALL, UINT64_MAX, 0},
		     {WAIT_STOPPED, 40, 0}};

	begin();
	for (size_t i = 0; i < 5; i++) {
		struct event_wait *wait = event(EVENT_wait, sizeof(*wait), 1, 100);

		wait->ended = rig.clock;
		wait->duration = 100;
		wait->reason = cases[i].reason;
		wait->queued = cases[i].queued;
		CHECK_EQ(send_event(), 0);
	}
	finish();
	CHECK_EQ(count(RECORD_wait), 5);
	for (size_t i = 0; i < 5; i++)
		CHECK_EQ(nth(RECORD_wait, i)->wait.queued, cases[i].stored);
}

TEST(who_ended_a_wait_is_a_thread_of_the_profile)
{
	begin();
	/* One that has no record yet is unknown, and is made known by no wait. */
	for (uint32_t i = 0; i < 3; i++) {
		struct event_wait *wait = event(EVENT_wait, sizeof(*wait), 1, 100 + i);

		wait->ended = rig.clock;
		wait->duration = 100;
		wait->waker = i ? 100 : 102;
		wait->waker_process = i < 2 ? 1 : 7;
		CHECK_EQ(send_event(), 0);
	}
	finish();
	CHECK_EQ(count(RECORD_wait), 3);
	CHECK_EQ(nth(RECORD_wait, 0)->wait.waker, 0);
	CHECK_EQ(nth(RECORD_wait, 1)->wait.waker, nth(RECORD_wait, 0)->wait.thread);
	CHECK_EQ(nth(RECORD_wait, 2)->wait.waker, 0);
	CHECK_EQ(count(RECORD_thread), 3);
}

TEST(kernel_frames_of_a_wait_stand_on_the_stack_that_was_left)
{
	static const uint64_t lefts[] = {0x1100, 0x1200};

	begin();
	send_mmap(1, 0x1000, 0x1000, 0x5000, "/nowhere/prog");
	for (int i = 0; i < 2; i++) {
		send_leave(lefts[i]);
		rig.clock += 99;
		send_wait(0xffffffff81000010);
	}
	/* Not told where it was left: its own time is another one. */
	send_wait(0xffffffff81000010);
	finish();
	CHECK_STR(stack_text(nth(RECORD_wait, 0)->wait.stack), "m1:5100 k2");
	CHECK_STR(stack_text(nth(RECORD_wait, 1)->wait.stack), "m1:5200 k2");
	CHECK_STR(stack_text(nth(RECORD_wait, 2)->wait.stack), "k2");
	CHECK_EQ(nth(RECORD_wait, 1)->wait.quality, STACK_USER_END);
	CHECK_EQ(nth(RECORD_wait, 2)->wait.quality, 0);
}

TEST(ticks_say_which_system_call_they_are_in)
{
	static const struct {
		uint16_t call;
		uint64_t stored;
	} cases[] = {{0, 0}, {1, 1}, {7, 7}, {7 | CPU_CALL_COMPAT, 7 + (UINT64_C(1) << 31)}};

	begin();
	for (size_t i = 0; i < 4; i++) {
		struct event_cpu *cpu = event(EVENT_cpu, sizeof(*cpu), 1, 100);

		cpu->mode = CPU_MODE_KERNEL;
		cpu->call = cases[i].call;
		CHECK_EQ(send_event(), 0);
	}
	finish();
	CHECK_EQ(count(RECORD_cpu), 4);
	for (size_t i = 0; i < 4; i++)
		CHECK_EQ(nth(RECORD_cpu, i)->cpu.call, cases[i].stored);
}

static void send_usage(uint32_t flags, uint64_t faults, uint64_t waits, uint64_t longest)
{
	struct event_usage *usage = event(EVENT_usage, sizeof(*usage), 1, 100);

	usage->flags = flags;
	usage->major_faults = faults;
	usage->queued = 10 * faults;
	usage->waits[WAIT_STOPPED] = waits;
	usage->wait_ns[WAIT_STOPPED] = 100 * waits;
	usage->wait_max[WAIT_STOPPED] = longest;
	CHECK_EQ(send_event(), 0);
}

/* The kernel side reports sums since the thread began. What is not final is no event. */
TEST(usage_is_what_was_added)
{
	const struct record_usage *last;

	begin();
	send_usage(USAGE_GOES_ON, 2, 3, 70);
	send_usage(USAGE_GOES_ON, 2, 4, 70);
	send_usage(0, 7, 5, 71);
	send_usage(0, 1, 1, 9); /* another thread with the same number */
	CHECK_EQ(store_count(rig.store, STREAM_PROCESS), 2);
	finish();
	CHECK_EQ(count(RECORD_usage), 4);
	CHECK_EQ(nth(RECORD_usage, 0)->usage.major_faults, 2);
	CHECK_EQ(nth(RECORD_usage, 0)->usage.stopped_max, 70);
	CHECK_EQ(nth(RECORD_usage, 1)->usage.major_faults, 0);
	CHECK_EQ(nth(RECORD_usage, 1)->usage.stopped_waits, 1);
	CHECK_EQ(nth(RECORD_usage, 1)->usage.stopped_max, 0);
	last = &nth(RECORD_usage, 2)->usage;
	CHECK_EQ(last->major_faults, 5);
	CHECK_EQ(last->queued_ns, 50);
	CHECK_EQ(last->stopped_waits, 1);
	CHECK_EQ(last->stopped_ns, 100);
	CHECK_EQ(last->stopped_max, 71);
	CHECK_EQ(nth(RECORD_usage, 3)->usage.major_faults, 1);
}

/* It was asked while it ended, and the kernel had counted more by then. */
TEST(usage_never_sinks)
{
	begin();
	send_usage(USAGE_GOES_ON, 5, 4, 70);
	send_usage(0, 3, 4, 70);
	finish();
	CHECK_EQ(nth(RECORD_usage, 1)->usage.major_faults, 0);
	CHECK_EQ(nth(RECORD_usage, 1)->usage.queued_ns, 0);
}

TEST(usage_of_a_thread_that_ended_is_forgotten)
{
	begin();
	send_usage(USAGE_GOES_ON, 2, 3, 70);
	send_exit(1, 100, 100, 0);
	send_usage(USAGE_GOES_ON, 1, 1, 9);
	finish();
	CHECK_EQ(nth(RECORD_usage, 1)->usage.major_faults, 1);
}
