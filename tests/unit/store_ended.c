/* SPDX-License-Identifier: BSD-2-Clause */
/* store_ended.c: tests of what a store drops, and what not, once processes and threads are gone. */
#include <errno.h>

#include "store_rig.h"
#include "../../bpf/frame_place.h"

/* Whatever is not in this set is gone; what was reported. */
struct present {
	uint32_t indices[4];
	uint32_t gone;
	size_t n_gone;
};

static bool is_present(void *context, const struct process *process)
{
	const struct present *present = context;

	for (size_t i = 0; i < 4; i++)
		if (present->indices[i] == process->id)
			return true;
	return false;
}

static void note_gone(void *context, struct process *process)
{
	struct present *present = context;

	processes_end(process, rig.clock);
	present->gone = process->pid;
	present->n_gone++;
}

/* As the recorder does. */
static void drop(void *context, const struct process *process)
{
	(void)context;
	store_forget(rig.store, process->id);
}

static void sweep(struct present *present, int times)
{
	const struct processes_watch watch = {is_present, note_gone, drop, present};

	for (int i = 0; i < times; i++)
		processes_sweep(rig.processes, &watch);
}

TEST(what_ended_is_dropped_after_a_while_and_not_before)
{
	const struct syscall_total total = {.count = 1};
	const struct syscall_key ended = {.process = 2}, there = {.process = 1};
	struct present present = {.indices = {1, 2}};

	begin();
	send_fork(1, 100, 2, 200);
	send_fork(1, 100, 1, 300);
	send_ip(1, 300, 0x1010);
	send_ip(1, 100, 0x1010);
	send_exit(2, 200, 200, 1);
	send_exit(1, 100, 300, 0);
	sweep(&present, 1);
	send_ip(2, 200, 0x1010);
	CHECK_EQ(store_syscall_total(rig.store, 5, &ended, &total), 0);
	sweep(&present, 100);
	CHECK_EQ(store_syscall_total(rig.store, 5, &ended, &total), -ENOENT);
	CHECK_EQ(store_syscall_total(rig.store, 5, &there, &total), 0);
	send_ip(1, 100, 0x1010);
	send_ip(1, 300, 0x1010);
	CHECK_EQ(present.n_gone, 0);
	finish();
	CHECK_EQ(count(RECORD_process), 2);
	CHECK_EQ(nth(RECORD_cpu, 1)->cpu.thread, nth(RECORD_cpu, 3)->cpu.thread);
	/* Nobody remembers the thread that ended. */
	CHECK(nth(RECORD_cpu, 0)->cpu.thread != nth(RECORD_cpu, 4)->cpu.thread);
}

TEST(who_is_gone_without_a_word_is_missed)
{
	struct present present = {.indices = {1, 2}};

	begin();
	send_fork(1, 100, 2, 200);
	send_mmap(2, 0x1000, 0x1000, 0, "/nowhere/a");
	sweep(&present, 100);
	CHECK_EQ(present.n_gone, 0);
	/* Not at once: its last event may be on its way. */
	present.indices[1] = 0;
	sweep(&present, 16);
	CHECK_EQ(present.n_gone, 0);
	sweep(&present, 16);
	CHECK_EQ(present.n_gone, 1);
	CHECK_EQ(present.gone, 200);
	sweep(&present, 100);
	CHECK_EQ(present.n_gone, 1);
	/* Nothing is known of it any more. */
	send_mmap(2, 0x1000, 0x1000, 0, "/nowhere/stranger");
	finish();
	CHECK_EQ(count(RECORD_mmap), 1);
}

/* Modules of the registry that stand for code in no file. */
static size_t count_generated(void)
{
	size_t n = 0;

	for (uint64_t module = 1; module < 64; module++) {
		const struct file *file = files_by_module(rig.files, module);

		n += file && file->process;
	}
	return n;
}

/* Each child of a Python program runs functions that are in no file. */
TEST(the_code_of_children_without_end_takes_no_memory)
{
	struct present present = {.indices = {1}};

	begin();
	for (uint32_t child = 2; child <= 41; child++) {
		send_fork(1, 100, child, 100 + child);
		send_ip(child, 100 + child, frame_place(7, 1));
		send_exit(child, 100 + child, 100 + child, 1);
	}
	send_ip(1, 100, frame_place(7, 1));
	CHECK_EQ(count_generated(), 41);
	sweep(&present, 100);
	CHECK_EQ(count_generated(), 1);
	send_ip(1, 100, frame_place(7, 1));
	finish();
	CHECK_EQ(nth(RECORD_cpu, 40)->cpu.stack, nth(RECORD_cpu, 41)->cpu.stack);
}
